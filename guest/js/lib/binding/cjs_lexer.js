'use strict';
// The names that a CommonJS module exports, as far as they can be read without running it: the forms that compilers write.
const NAME = '[A-Za-z_$][\\w$]*';
const HOLDER = '(?:module\\s*\\.\\s*)?exports';
const comments = /\/\*[\s\S]*?\*\/|(?<=^|[\s;{}()])\/\/[^\n]*/g;
const assigned = new RegExp(`\\b${HOLDER}\\s*(?:\\.\\s*(${NAME})|\\[\\s*(['"])([^'"]+)\\2\\s*\\])\\s*=(?!=)`, 'g');
const defined = new RegExp(`\\bObject\\s*\\.\\s*defineProperty\\s*\\(\\s*${HOLDER}\\s*,\\s*(['"])([^'"]+)\\1`, 'g');
const whole = /\bmodule\s*\.\s*exports\s*=\s*(?:require\s*\(\s*(['"])([^'"]+)\1\s*\)|\{([^}]*)\})/g;
const star = /\b__exportStar\s*\(\s*(?:[\w$]+\s*\()?\s*require\s*\(\s*(['"])([^'"]+)\1|\b__export\s*\(\s*require\s*\(\s*(['"])([^'"]+)\3/g;

function members(body, names, reexports) {
  for (const part of body.split(',')) {
    const text = part.trim();
    const [, spread] = /^\.\.\.\s*require\s*\(\s*['"]([^'"]+)['"]\s*\)/.exec(text) ?? [];
    const [, name, quoted] = new RegExp(`^(?:(${NAME})|['"]([^'"]+)['"])\\s*(?::|\\(|$)`).exec(text) ?? [];
    if (spread !== undefined) reexports.add(spread);
    else if (name === undefined && quoted === undefined) return; // nothing that follows is sure
    else names.add(name ?? quoted);
  }
}

function parse(source) {
  const text = source.replace(comments, ' ');
  const names = new Set(), reexports = new Set();
  for (const [, name, , quoted] of text.matchAll(assigned)) names.add(name ?? quoted);
  for (const [, , name] of text.matchAll(defined)) names.add(name);
  for (const [, , from, body] of text.matchAll(whole)) {
    if (from !== undefined) reexports.add(from);
    else members(body, names, reexports);
  }
  for (const [, , a, , b] of text.matchAll(star)) reexports.add(a ?? b);
  return [names, [...reexports]];
}

return { parse };
