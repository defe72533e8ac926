// Calls of the server in the child process.
//
// A Link owns one server. Requests may overlap; answers come by their ids. The process ends with kill(), when its input is closed,
// which this process's own end does, however that comes, or when no reference to the Link is left.
import { Channel, END_PATIENCE, type Handler, type OutputParams, type Params } from "./channel.js";
import { SandboxDied } from "./errors.js";

export type { Handler, Json, OutputParams, Params } from "./channel.js";

const forgotten = new FinalizationRegistry<Channel>((channel) => void channel.close());

export class Link {
  readonly channel: Channel;
  /** Bytes: what files.read and files.download take at most. */
  fsLimit = 256 << 20;
  private next = 1;

  constructor(binary: string) {
    this.channel = new Channel(binary);
    forgotten.register(this, this.channel, this);
  }

  get pid(): number | undefined {
    return this.channel.child.pid;
  }

  get death(): string | null {
    return this.channel.death;
  }

  /** Answers requests of the server for `method`, with what the handler gives or throws. */
  answer(method: string, handler: Handler): void {
    this.channel.handlers.set(method, handler);
  }

  /** The id of a request, and its answer. Params that are a function are made when the pipe has room for them. */
  start(
    method: string,
    params: Params | (() => Params),
    onOutput?: (params: OutputParams) => void,
    quiet?: boolean,
  ): { id: number; answer: Promise<Params> } {
    const id = this.next++;
    const channel = this.channel;
    if (channel.death !== null) return { id, answer: Promise.reject(new SandboxDied(channel.death)) };
    const answer = new Promise<Params>((resolve, reject) => {
      const make = typeof params === "function" ? params : () => params;
      channel.request(id, { resolve, reject, onOutput, quiet }, () => ({ jsonrpc: "2.0", id, method, params: make() }));
    });
    return { id, answer };
  }

  call(method: string, params: Params | (() => Params)): Promise<Params> {
    return this.start(method, params).answer;
  }

  /** Ends everything in it, then the process. Twice is fine. */
  async kill(): Promise<void> {
    if (this.death === null) {
      let timer: NodeJS.Timeout | undefined;
      const patience = new Promise<void>((resolve) => {
        timer = setTimeout(() => {
          this.channel.child.kill("SIGKILL");
          resolve();
        }, END_PATIENCE);
      });
      await Promise.race([this.call("kill", {}).then(() => {}, () => {}), patience]);
      clearTimeout(timer);
    }
    await this.channel.close();
    forgotten.unregister(this);
  }
}
