// Run unreviewed shell commands in a sandbox.
//
//   import { Sandbox } from "cay";
//
//   const sandbox = await Sandbox.create();
//   console.log((await sandbox.commands.run("echo hello | tr a-z A-Z")).stdout);
//   await sandbox.kill();
import "./dispose.js";

export { Commands } from "./commands.js";
export { Display } from "./display.js";
export { BinaryNotFound, CommandFailed, SandboxDied, SandboxError, SandboxTimeout } from "./errors.js";
export { Files } from "./files.js";
export { Callbacks, JavaScript, JavaScriptSession, Python, PythonFailed, PythonResult, Session, TypeScript, TypeScriptSession, ValueTooLarge } from "./python.js";
export type { Callback, CallbackContext, CallbackMap, PythonError, PythonOptions, TraceEvent } from "./python.js";
export { Process } from "./process.js";
export { Env, Sandbox } from "./sandbox.js";
export { Terminal } from "./terminal.js";
export { ToolFailed, Tools } from "./tools.js";
export type { Tool, ToolCallOptions, ToolEvent, ToolsOptions } from "./tools.js";
export { CommandResult } from "./types.js";
export type { ReadOptions, WriteOptions } from "./files.js";
export type { Abortable, Remote } from "./options.js";
export type {
  CreateOptions,
  Data,
  End,
  FileInfo,
  MountChange,
  MountOptions,
  NetDecision,
  NetOptions,
  RunningCommand,
  RunOptions,
  Secret,
  SaveOptions,
  SnapshotOptions,
  StartOptions,
  TerminalOptions,
  Usage,
} from "./types.js";
export { WorkspaceError, WorkspaceProcess, Workspaces, WorkspaceSession } from "./workspaces.js";
export type {
  CloneProgress,
  Manifest,
  ManifestEntry,
  ProvisionOptions,
  WorkspaceEntry,
  WorkspaceExecOptions,
  WorkspaceResult,
  WorkspaceSessionInfo,
  WorkspaceSnapshot,
  WorkspacesOptions,
} from "./workspaces.js";
