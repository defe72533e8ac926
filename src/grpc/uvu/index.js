// index.js - uvu as tests see it: the framework itself (framework.js), whose tests are noted as they end.
'use strict';

globalThis.UVU_DEFER = 1; // report.js runs the queued tests
globalThis.UVU_INDEX = 0;
globalThis.UVU_QUEUE = [[null]];

const uvu = require('./framework.js');
const { compare } = require('../diff/index.js');

const noted = { tests: [], skipped: 0 };

function textOf(error) {
  if (!(error instanceof Error)) return String(error);
  const named = error.name === 'Error' || error.name === 'Assertion' ? error.message : `${error.name}: ${error.message}`;
  const operator = error.operator ? ` (${error.operator})` : '';
  let details = error.details;
  if (error.name.startsWith('AssertionError') && !String(error.operator).includes('not')) details = compare(error.actual, error.expected);
  return details ? `${named}${operator}\n${details}` : named + operator;
}

const note = (test, error) => {
  if (test.noted === undefined) noted.tests.push((test.noted = { name: test.name, passed: true, duration: test.duration ?? 0 }));
  if (error === undefined || !test.noted.passed) return;
  test.noted.passed = false;
  test.noted.error = textOf(error.value);
};

function wrap(original, suite) {
  let tests = [];
  let only = [];
  let current = null;
  let broken = null; // what a hook before all tests has thrown

  const add = (list, register) => (name, handler) => {
    const test = { name: suite ? `${suite} > ${name}` : String(name) };
    list().push(test);
    const timed = async (context) => {
      const began = performance.now();
      try {
        await handler(context);
        test.duration = performance.now() - began;
        note(test);
      } catch (value) {
        test.duration = performance.now() - began;
        note(test, { value });
        throw value;
      }
    };
    register(name, timed);
    test.handler = timed;
  };

  const wrapped = add(() => tests, original);
  wrapped.only = add(() => only, original.only);
  wrapped.skip = (...words) => {
    noted.skipped++;
    return original.skip(...words);
  };

  wrapped.before = (hook) => original.before(async (context) => {
    try {
      await hook(context);
    } catch (value) {
      broken ??= { value };
      throw value;
    }
  });
  wrapped.after = (hook) => original.after(async (context) => {
    try {
      await hook(context);
    } catch (value) {
      note({ name: suite ? `${suite} > after` : 'after' }, { value });
    }
  });
  wrapped.before.each = (hook) => original.before.each(async (context) => {
    try {
      await hook(context);
    } catch (value) {
      note(current(context), { value });
      throw value;
    }
  });
  wrapped.after.each = (hook) => original.after.each(async (context) => {
    try {
      await hook(context);
    } catch (value) {
      note(current(context), { value });
    }
  });

  wrapped.run = () => {
    const planned = only.length > 0 ? only : tests;
    if (only.length > 0) noted.skipped += tests.length;
    [tests, only] = [[], []];
    const full = (name) => (suite ? `${suite} > ${name}` : name);
    current = (context) => planned.find((test) => test.name === full(context.__test__)) ?? { name: full(context.__test__) };
    original.run();
    UVU_QUEUE[0].push(async () => {
      const cause = broken ?? { value: 'it did not run' };
      for (const test of planned) if (test.noted === undefined) note(test, cause);
      return [true, 0, 0, 0];
    });
  };
  return wrapped;
}

exports.suite = (name = '', state = {}) => wrap(uvu.suite(name, state), name);
exports.test = wrap(uvu.test, '');
exports.exec = uvu.exec;
exports.noted = noted;
