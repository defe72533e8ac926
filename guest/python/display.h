/* display.h - MIME bundles: what display() is called with, and the value of a cell. */
#pragma once

#include "driver.h"

int display_ready(PyObject *module); /* adds cay.display and cay._show */
int display_prepare(void); /* before the code of a cell whose bundles are wanted; -1 with an exception */

/* After such a cell, also one that failed: figures that it has left open are displayed, but for its value (NULL: none).
 * -1 with an exception; one that was there stays in its place. */
int display_settle(PyObject *value);

/* The value's bundle as the field BUNDLE: 0, TALK_BUNDLE_LEFT_OUT when it is longer than `max`, or -1 with an
 * exception. Methods of the value run. */
int display_value(PyObject *value, size_t max, reply *r);
