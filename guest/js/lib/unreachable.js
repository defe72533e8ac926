// unreachable.js - the error of a connection that the sandbox denies says why, as strerror(3) does for programs in C.
'use strict';

const { ENETUNREACH } = native.ERRORS;
const errors = host.require('internal/errors');
const Plain = errors.ExceptionWithHostPort;

// A function, since a class would be the `constructor` of its objects, which Node's own hides.
errors.ExceptionWithHostPort = function ExceptionWithHostPort(number, ...details) {
  const error = new Plain(number, ...details);
  if (number === -ENETUNREACH) error.message += `: ${native.errorText(ENETUNREACH)}`;
  return error;
};
