// Calls of one sandbox, or of one set of tools.
//
// Requests may overlap; answers come by their ids. The sandbox ends with kill(), with this process, however that ends, or when no reference
// to the Link is left.
import { type Channel, END_PATIENCE, type Handler, KILLED, type OutputParams, type Params, Party } from "./channel.js";
import { SandboxDied } from "./errors.js";
import { ProcessChannel } from "./process-channel.js";
import { type Isolation, sharedChannel } from "./servers.js";

export type { Handler, Json, OutputParams, Params } from "./channel.js";

/** What a call gives, or the reason of the signal as soon as that is aborted; `onAbort` then ends what the call began. */
export async function unlessAborted<T>(signal: AbortSignal | undefined, begin: () => Promise<T>, onAbort: () => void = () => {}): Promise<T> {
  if (signal === undefined) return begin();
  signal.throwIfAborted();
  const answer = begin();
  let listener = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    listener = () => {
      onAbort();
      reject(signal.reason);
    };
  });
  signal.addEventListener("abort", listener, { once: true });
  answer.catch(() => {}); // when it was aborted, its failure is of no interest
  try {
    return await Promise.race([answer, aborted]);
  } finally {
    signal.removeEventListener("abort", listener);
  }
}

/** The part of a Link that its end needs: without its callbacks, which may refer to it. */
interface Remains {
  channel: Channel;
  name: string;
}

function release({ channel, name }: Remains): void {
  if (name === "") {
    void channel.close();
    return;
  }
  channel.bury(name);
  channel.tell("destroy", { sandbox: name });
}

const forgotten = new FinalizationRegistry<Remains>(release);
let names = 0;

export class Link {
  readonly channel: Channel;
  /** Bytes: what files.read and files.download take at most. */
  fsLimit = 256 << 20;
  private readonly party: Party;

  /** Without an isolation, the server is its own. */
  constructor(binary: string, isolation?: Isolation) {
    this.channel = isolation === undefined ? new ProcessChannel(binary) : sharedChannel(binary, isolation);
    this.party = new Party(isolation === undefined ? "" : String(++names));
    this.channel.join(this.party);
    forgotten.register(this, { channel: this.channel, name: this.party.name }, this);
  }

  get pid(): number | undefined {
    return this.channel.pid;
  }

  get death(): string | null {
    return this.party.death ?? this.channel.death;
  }

  /** Answers requests of the server for `method`, with what the handler gives or throws. */
  answer(method: string, handler: Handler): void {
    this.party.handlers.set(method, handler);
  }

  /** Attends to notifications of the server that belong to no request. */
  attend(method: string, notice: (params: Params) => void): void {
    this.party.notices.set(method, notice);
  }

  /** The id of a request, and its answer. Params that are a function are made when the pipe has room for them. */
  start(
    method: string,
    params: Params | (() => Params),
    onOutput?: (params: OutputParams) => void,
    quiet?: boolean,
  ): { id: number; answer: Promise<Params> } {
    const { channel, party } = this;
    const id = channel.nextId();
    if (this.death !== null) return { id, answer: Promise.reject(new SandboxDied(this.death)) };
    const make = typeof params === "function" ? params : () => params;
    const named = party.name === "" ? make : () => ({ ...make(), [method === "create" ? "id" : "sandbox"]: party.name });
    const answer = new Promise<Params>((resolve, reject) => {
      channel.request(id, { resolve, reject, onOutput, quiet, party }, method, named);
    });
    return { id, answer };
  }

  call(method: string, params: Params | (() => Params)): Promise<Params> {
    return this.start(method, params).answer;
  }

  /** At most `length` bytes of a file. */
  async readFile(path: Params, offset: number, length: number): Promise<Buffer> {
    if (this.death !== null) throw new SandboxDied(this.death);
    return this.channel.readFile(this.party, path, offset, length);
  }

  /** Without an offset and append, the file is replaced. */
  async writeFile(path: Params, data: Uint8Array, options: { mode?: number; offset?: number; append?: boolean }): Promise<void> {
    if (this.death !== null) throw new SandboxDied(this.death);
    return this.channel.writeFile(this.party, path, data, options);
  }

  /** It does not answer, and ends without its consent. */
  async abandon(): Promise<void> {
    this.channel.abandon();
    await this.channel.close();
  }

  /** Ends everything in it, and its server when that is its own. Twice is fine. */
  async kill(): Promise<void> {
    const { channel, party } = this;
    if (this.death === null) {
      let timer: NodeJS.Timeout | undefined;
      const patience = new Promise<void>((resolve) => {
        timer = setTimeout(() => {
          channel.abandon();
          resolve();
        }, END_PATIENCE);
      });
      const ended = this.call(party.name === "" ? "kill" : "destroy", {}).then(() => {}, () => {});
      party.killing = true;
      party.death = KILLED;
      await Promise.race([ended, patience]);
      clearTimeout(timer);
    }
    if (party.name === "") await channel.close();
    channel.bury(party.name);
    forgotten.unregister(this);
  }
}
