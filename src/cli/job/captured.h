// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* --captured: joins a trace of graph replays with the trace in which the graphs were captured. */
#ifndef TIDE_CLI_JOB_CAPTURED_H
#define TIDE_CLI_JOB_CAPTURED_H

#include "cli/cli.h"

/* Reads the capture, or those of a folder (its folder capture_traces, if there is one), adds their
 * ops to the model and gives each replayed kernel to the call that captured it. Says on stderr how
 * many were matched; the others are a loss of the trace. Returns the model; NULL after a failure,
 * which was reported. */
tide_model *tide__cli_join_captured(const tide_args *a, tide_model *m, const char *path);

#endif
