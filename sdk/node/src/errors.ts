// What can go wrong. A command that fails is no exception unless `check` asks for one.
import type { CommandResult } from "./types.js";

/** The sandbox refused. */
export class SandboxError extends Error {
  /** The name of the errno, "ENOENT"; null when there is none. */
  readonly errno: string | null;
  /** Of JSON-RPC: 1, or -32602 for arguments that make no sense. */
  readonly code: number;

  constructor(message: string, code = 1) {
    super(message);
    this.name = new.target.name;
    this.code = code;
    this.errno = /^E[A-Z0-9]+(?=:)/.exec(message)?.[0] ?? null;
  }
}

/** A command reached its timeout (with `check`), or a sandbox did not start in time. */
export class SandboxTimeout extends SandboxError {
  readonly result: CommandResult | null;
  constructor(message: string, result: CommandResult | null = null) {
    super(message);
    this.result = result;
  }
}

/** A command run with `check` did not exit with 0; `result` has its output. */
export class CommandFailed extends SandboxError {
  readonly result: CommandResult;
  constructor(message: string, result: CommandResult) {
    super(message);
    this.result = result;
  }
}

/** The sandbox is gone: killed or crashed. */
export class SandboxDied extends SandboxError {}

/** There is no `cay` program. */
export class BinaryNotFound extends SandboxError {}
