// What code displays: MIME bundles, as notebooks show them.
import type { Json } from "./link.js";

/** One thing in all the forms that it offers, by MIME type. */
export class Display {
  /** Text, JSON, and everything else in base64. */
  readonly data: Record<string, Json>;
  readonly metadata: Record<string, Json>;
  /** Of display(…, display_id=…); null: it has none. */
  readonly id: string | null;
  /** "update": in the place of the display with the same id; "clear": all so far is taken back. */
  readonly kind: "display" | "update" | "clear";
  /** Of "clear": when the next thing comes. */
  readonly wait: boolean;

  /** @internal */
  constructor(bundle: Record<string, Json>) {
    const { data, metadata, id, kind, wait } = bundle;
    this.data = isObject(data) ? data : {};
    this.metadata = isObject(metadata) ? metadata : {};
    this.id = typeof id === "string" ? id : null;
    this.kind = kind === "update" || kind === "clear" ? kind : "display";
    this.wait = wait === true;
  }

  /** The contents of a MIME type: a string, a Buffer, or what JSON says; undefined when there are none. */
  content(mime: string): unknown {
    const content = this.data[mime];
    const asItIs = /^(text\/|image\/svg\+xml$|application\/javascript$|application\/json$)|\+json$/.test(mime);
    return typeof content === "string" && !asItIs ? Buffer.from(content, "base64") : content;
  }

  /** The MIME types. */
  get formats(): string[] {
    return Object.keys(this.data);
  }

  /** text/plain. */
  get text(): string | undefined {
    return this.content("text/plain") as string | undefined;
  }

  /** text/html. */
  get html(): string | undefined {
    return this.content("text/html") as string | undefined;
  }

  /** image/png, as the bytes of the file. */
  get png(): Buffer | undefined {
    return this.content("image/png") as Buffer | undefined;
  }

  /** image/svg+xml. */
  get svg(): string | undefined {
    return this.content("image/svg+xml") as string | undefined;
  }
}

function isObject(value: Json | undefined): value is Record<string, Json> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A bundle of the guest; null when it is none. */
export function readDisplay(bundle: Json | undefined): Display | null {
  return isObject(bundle) && (bundle["kind"] === "clear" || isObject(bundle["data"])) ? new Display(bundle) : null;
}

/** What an evaluation has displayed, as it stands at its end. */
export class Displays {
  readonly shown: Display[] = [];
  private clearNext = false;

  add(display: Display): void {
    if (display.kind === "clear") {
      this.clearNext = display.wait;
      if (!display.wait) this.shown.length = 0;
      return;
    }
    if (this.clearNext) this.shown.length = 0;
    this.clearNext = false;
    if (display.kind === "display") this.shown.push(display);
    else this.shown.forEach((before, at) => before.id === display.id && (this.shown[at] = display));
  }
}
