// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#ifndef TIDE_PYTHON_ROLES_H
#define TIDE_PYTHON_ROLES_H

/* roles(trace capsule) -> (TIDE_ROLE_*, TIDE_RULE_*) of every row of allocs: two bytes objects. */
PyObject *tide__py_roles(PyObject *self, PyObject *trace);

#endif
