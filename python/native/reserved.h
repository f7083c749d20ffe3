// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#ifndef TIDE_PYTHON_RESERVED_H
#define TIDE_PYTHON_RESERVED_H

/* reserved(trace capsule) -> (source of each device's row: "segments", "samples" or None; [(time, row,
 * bytes from then on), ...] in order) */
PyObject *tide__py_reserved(PyObject *self, PyObject *trace);

#endif
