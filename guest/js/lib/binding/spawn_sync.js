'use strict';
host.internalBinding('process_wrap');
const CHUNK = 65536;
const { EPIPE, ETIMEDOUT, ENOBUFS } = native.ERRORS;

function join(parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return host.toBuffer(whole.buffer);
}

// Feeds and drains the pipes until all are closed, the time is over or too much came.
function converse(open, pid, options) {
  const until = options.timeout > 0 ? native.now() + options.timeout : Infinity;
  let error, ended = false;
  const stop = (reason) => {
    error ??= -reason;
    if (!ended) native.kill(pid, options.killSignal || 15);
    ended = true;
  };
  const shut = (pipe) => {
    native.close(pipe.fd);
    open.delete(pipe);
  };
  for (const pipe of [...open]) if (pipe.input && pipe.input.length === 0) shut(pipe);
  while (open.size > 0) {
    const list = [...open];
    const came = native.poll(list.flatMap((pipe) => [pipe.fd, pipe.input ? 4 : 1]), until === Infinity ? -1 : Math.max(0, Math.ceil(until - native.now())));
    if (native.now() >= until && !ended) stop(ETIMEDOUT);
    list.forEach((pipe, i) => { if (came[i] && !(pipe.input ? feed(pipe) : drain(pipe, options, stop))) shut(pipe); });
    if (ended && came.every((c) => !c)) {
      const status = native.wait(pid, true);
      list.forEach(shut);
      return { error, status };
    }
  }
  return { error, status: until === Infinity ? native.wait(pid, true) : waitUntil(pid, until, stop) };
}

function waitUntil(pid, until, stop) {
  for (;;) {
    const status = native.wait(pid, false);
    if (status) return status;
    if (native.now() >= until) {
      stop(ETIMEDOUT);
      return native.wait(pid, true);
    }
    native.sleep(1);
  }
}

function feed(pipe) {
  const count = native.write(pipe.fd, pipe.input, pipe.at, Math.min(4096, pipe.input.length - pipe.at));
  if (count > 0) pipe.at += count;
  return count >= 0 && pipe.at < pipe.input.length;
}

function drain(pipe, { maxBuffer }, stop) {
  const chunk = new Uint8Array(CHUNK);
  const count = native.read(pipe.fd, chunk, 0, CHUNK);
  if (count <= 0) return false;
  pipe.parts.push(chunk.slice(0, count));
  pipe.length += count;
  if (!(maxBuffer > 0) || pipe.length <= maxBuffer) return true;
  stop(ENOBUFS);
  return false;
}

function spawn(options) {
  const pipes = [];
  const { fds, closing } = host.openStdio(options.stdio ?? [], (entry, index, fd, childReads) => {
    const given = entry.input;
    const input = childReads ? (given ? new Uint8Array(given.buffer, given.byteOffset, given.byteLength) : new Uint8Array(0)) : undefined;
    pipes[index] = { fd, input, at: 0, parts: [], length: 0 };
  });
  const pid = native.spawn(options.file, options.args ?? [options.file], options.envPairs ?? null, options.cwd || null, fds, Boolean(options.detached));
  for (const fd of closing) native.close(fd);
  const open = new Set(pipes.filter(Boolean));
  if (pid < 0) {
    for (const pipe of open) native.close(pipe.fd);
    return { error: pid, pid: 0, status: null, signal: null, output: null };
  }
  const { error, status } = converse(open, pid, options);
  const output = (options.stdio ?? []).map((entry, i) => (pipes[i] && !pipes[i].input ? join(pipes[i].parts) : null));
  const signal = status[2] ? host.signalName(status[2]) : null;
  const result = { pid, status: signal ? null : status[1], signal, output };
  if (error) result.error = error;
  return result;
}

return { spawn };
