// A client of the gRPC service (`cay serve --grpc`). It needs the package @grpc/grpc-js.
//
//   import { Service } from "cay/service";
//
//   const service = await Service.connect("127.0.0.1:50051");
//   console.log((await service.execute({ code: "console.log(6 * 7)" })).output);
//   service.close();
import { SandboxError } from "./errors.js";
import { decode, encode, type Fields, type Values } from "./proto.js";

const PATH = "/prodisco.sandbox.v1.SandboxService/";
const LARGEST = 64 << 20;

/** How far an execution is. */
export const State = { PENDING: 1, RUNNING: 2, COMPLETED: 3, FAILED: 4, CANCELLED: 5, TIMEOUT: 6 } as const;

/** Code that has run once and can be run again by its name. */
export interface CacheEntry {
  name: string;
  description: string;
  createdAtMs: number;
  contentHash: string;
}

/** What came of an execution. `cached` is set when the code is new in the cache. */
export interface Executed {
  success: boolean;
  output: string;
  error: string | undefined;
  executionTimeMs: number;
  cached: CacheEntry | undefined;
}

/** The end of an execution; `state` is one of State. */
export interface Result {
  success: boolean;
  error: string | undefined;
  executionTimeMs: number;
  state: number;
  cached: CacheEntry | undefined;
}

/** A piece of a stream: `output`, `errorOutput`, or at last `result`; the others are undefined. */
export interface Chunk {
  executionId: string;
  output: string | undefined;
  errorOutput: string | undefined;
  result: Result | undefined;
  timestampMs: number;
}

/** An execution now: its state, its output from the offset on, both lengths, and the result once there is one. */
export interface Execution {
  executionId: string;
  state: number;
  output: string;
  errorOutput: string;
  outputLength: number;
  errorOutputLength: number;
  result: Result | undefined;
}

/** Whether the execution is cancelled, its state, and why it is not. */
export interface Cancelled {
  success: boolean;
  state: number;
  message: string | undefined;
}

/** A line of `executions`. */
export interface ExecutionInfo {
  executionId: string;
  state: number;
  startedAtMs: number;
  finishedAtMs: number | undefined;
  codePreview: string;
  isCached: boolean;
  cachedName: string | undefined;
}

/** One test. */
export interface TestResult {
  name: string;
  passed: boolean;
  error: string | undefined;
  durationMs: number;
}

/** What came of tests. `error` is set when they could not run to their end. */
export interface Tested {
  success: boolean;
  summary: { total: number; passed: number; failed: number; skipped: number } | undefined;
  tests: TestResult[];
  output: string;
  executionTimeMs: number;
  error: string | undefined;
}

/** Whether the server takes calls, and the context of kubectl's configuration. */
export interface Health {
  healthy: boolean;
  kubernetesContext: string;
}

/** What to run: code, or cached code by its name or a part of it. */
export interface Source {
  code?: string;
  cached?: string;
  timeoutMs?: number;
}

/** How to reach a server. `ca` (PEM) begins TLS; `certificate` and `key` are the client's; `token` is a bearer token; `timeoutMs` ends each call. */
export interface ServiceOptions {
  token?: string;
  ca?: Buffer;
  certificate?: Buffer;
  key?: Buffer;
  timeoutMs?: number;
}

// ---- the messages ----

const text = (number: number, optional = false) => ({ number, kind: "string", optional }) as const;
const int = (number: number, optional = false) => ({ number, kind: "int", optional }) as const;
const bool = (number: number) => ({ number, kind: "bool" }) as const;

const cacheEntry: Fields = { name: text(1), description: text(2), createdAtMs: int(3), contentHash: text(4) };
const cached = { number: 5, kind: cacheEntry };
const result: Fields = { success: bool(1), error: text(2, true), executionTimeMs: int(3), state: int(4), cached };
const info: Fields = {
  executionId: text(1), state: int(2), startedAtMs: int(3), finishedAtMs: int(4, true), codePreview: text(5), isCached: bool(6), cachedName: text(7, true),
};
const test: Fields = { name: text(1), passed: bool(2), error: text(3, true), durationMs: int(4) };
const summary: Fields = { total: int(1), passed: int(2), failed: int(3), skipped: int(4) };

/** @internal */
export const requests = {
  execute: { code: text(1, true), cached: text(2, true), timeoutMs: int(3, true) },
  test: { code: text(1, true), tests: text(2), timeoutMs: int(3, true) },
  get: { executionId: text(1), wait: bool(2), outputOffset: int(3) },
  list: { states: { number: 1, kind: "int", many: true }, limit: int(2), withinMs: int(3) },
  text: { text: text(1, true) },
} satisfies { [name: string]: Fields };

/** @internal */
export const answers = {
  executed: { success: bool(1), output: text(2), error: text(3, true), executionTimeMs: int(4), cached },
  chunk: { executionId: text(1), output: text(2, true), errorOutput: text(3, true), result: { number: 4, kind: result }, timestampMs: int(5) },
  execution: {
    executionId: text(1), state: int(2), output: text(3), errorOutput: text(4), outputLength: int(5), errorOutputLength: int(6),
    result: { number: 7, kind: result },
  },
  cancelled: { success: bool(1), state: int(2), message: text(3, true) },
  tested: {
    success: bool(1), summary: { number: 2, kind: summary }, tests: { number: 3, kind: test, many: true }, output: text(4), executionTimeMs: int(5),
    error: text(6, true),
  },
  health: { healthy: bool(1), kubernetesContext: text(2) },
  entries: { entries: { number: 1, kind: cacheEntry, many: true } },
  infos: { executions: { number: 1, kind: info, many: true } },
  count: { count: int(1) },
  text: { text: text(1) },
} satisfies { [name: string]: Fields };

// ---- what of @grpc/grpc-js is used ----

interface Status extends Error {
  code: number;
  details: string;
}
interface Call extends AsyncIterable<Values> {
  cancel(): void;
}
type Encode = (message: Values) => Buffer;
type Decode = (data: Buffer) => Values;
interface Client {
  close(): void;
  makeUnaryRequest(path: string, encode: Encode, decode: Decode, message: Values, metadata: object, options: object, done: (error: Status | null, answer: Values) => void): Call;
  makeServerStreamRequest(path: string, encode: Encode, decode: Decode, message: Values, metadata: object, options: object): Call;
}
interface Grpc {
  Client: new (address: string, credentials: object, options: object) => Client;
  Metadata: new () => { set(name: string, value: string): void };
  credentials: { createInsecure(): object; createSsl(ca?: Buffer | null, key?: Buffer | null, certificate?: Buffer | null): object };
  status: { [code: number]: string };
}

/** A call that failed: `status` is the name of gRPC's status, such as "RESOURCE_EXHAUSTED". Code that fails is no error of the call. */
export class ServiceError extends SandboxError {
  readonly status: string;
  constructor(status: string, message: string) {
    super(`${status}: ${message}`);
    this.status = status;
  }
}

/** A connection to a server of `prodisco.sandbox.v1`. */
export class Service {
  private constructor(private readonly grpc: Grpc, private readonly client: Client, private readonly options: ServiceOptions) {}

  /** A client for the server at this address. The connection is made by the first call. */
  static async connect(address = "127.0.0.1:50051", options: ServiceOptions = {}): Promise<Service> {
    const name: string = "@grpc/grpc-js"; // optional: the compiler must not look for it
    let loaded: Grpc & { default?: Grpc };
    try {
      loaded = (await import(name)) as Grpc;
    } catch {
      throw new SandboxError("cay/service needs the package @grpc/grpc-js: npm install @grpc/grpc-js");
    }
    const grpc = loaded.default ?? loaded;
    const secure = options.ca !== undefined || options.certificate !== undefined;
    const credentials = secure ? grpc.credentials.createSsl(options.ca ?? null, options.key ?? null, options.certificate ?? null) : grpc.credentials.createInsecure();
    const limits = { "grpc.max_receive_message_length": LARGEST, "grpc.max_send_message_length": LARGEST };
    return new Service(grpc, new grpc.Client(address, credentials, limits), options);
  }

  /** Closes the connection. Executions are cancelled, except those that `start` began. */
  close(): void {
    this.client.close();
  }

  /** Runs code and waits for its end. */
  execute(source: Source): Promise<Executed> {
    return this.ask("Execute", requests.execute, { ...source }, answers.executed);
  }

  /** Like `execute`, with the output as it comes; the last chunk has the result. Leaving the loop cancels the execution. */
  async *stream(source: Source): AsyncGenerator<Chunk, void, void> {
    const call = this.client.makeServerStreamRequest(`${PATH}ExecuteStream`, (message) => encode(requests.execute, message),
      (data) => decode(answers.chunk, data), { ...source }, this.metadata(), this.deadline());
    try {
      for await (const chunk of call) yield chunk as unknown as Chunk;
    } catch (error) {
      throw this.failed(error as Status);
    } finally {
      call.cancel();
    }
  }

  /** Begins an execution that goes on without this client, and gives its id. */
  async start(source: Source): Promise<string> {
    return (await this.ask<{ text: string }>("ExecuteAsync", requests.execute, { ...source }, answers.text)).text;
  }

  /** An execution now, or with `wait` when it has ended; output from this offset on, in bytes of UTF-8. */
  get(executionId: string, options: { wait?: boolean; outputOffset?: number } = {}): Promise<Execution> {
    return this.ask("GetExecution", requests.get, { executionId, ...options }, answers.execution);
  }

  /** Ends an execution. Doing so twice is as good as once. */
  cancel(executionId: string): Promise<Cancelled> {
    return this.ask("CancelExecution", requests.text, { text: executionId }, answers.cancelled);
  }

  /** Executions that wait or run, and with `withinMs` or `states` those that have ended; the newest first. */
  async executions(options: { states?: number[]; limit?: number; withinMs?: number } = {}): Promise<ExecutionInfo[]> {
    return (await this.ask<{ executions: ExecutionInfo[] }>("ListExecutions", requests.list, { ...options }, answers.infos)).executions;
  }

  /** Runs tests of uvu, after the code that they test. */
  test(tests: string, options: { code?: string; timeoutMs?: number } = {}): Promise<Tested> {
    return this.ask("ExecuteTest", requests.test, { tests, ...options }, answers.tested);
  }

  /** Cached code, the newest first. The filter is a part of the name, or a pattern such as `list-*`. */
  async cache(filter?: string): Promise<CacheEntry[]> {
    return (await this.ask<{ entries: CacheEntry[] }>("ListCache", requests.text, { text: filter }, answers.entries)).entries;
  }

  /** Empties the cache, and gives the number of its entries. */
  async clearCache(): Promise<number> {
    return (await this.ask<{ count: number }>("ClearCache", requests.text, {}, answers.count)).count;
  }

  /** Whether the server takes calls. */
  health(): Promise<Health> {
    return this.ask("HealthCheck", requests.text, {}, answers.health);
  }

  private metadata(): object {
    const metadata = new this.grpc.Metadata();
    if (this.options.token !== undefined) metadata.set("authorization", `Bearer ${this.options.token}`);
    return metadata;
  }

  private deadline(): object {
    return this.options.timeoutMs === undefined ? {} : { deadline: Date.now() + this.options.timeoutMs };
  }

  private failed(error: Status): Error {
    return typeof error.code === "number" ? new ServiceError(this.grpc.status[error.code] ?? String(error.code), error.details) : error;
  }

  private ask<A>(method: string, request: Fields, message: Values, answer: Fields): Promise<A> {
    return new Promise((resolve, reject) => {
      this.client.makeUnaryRequest(PATH + method, (m) => encode(request, m), (data) => decode(answer, data), message, this.metadata(), this.deadline(),
        (error, value) => (error ? reject(this.failed(error)) : resolve(value as unknown as A)));
    });
  }
}
