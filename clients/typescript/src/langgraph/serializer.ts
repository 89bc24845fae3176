// Values of LangGraph's serializer as bytes of the store.

import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { pack, PackError, unpack } from "./messagePack.js";
import type { Typed } from "./record.js";

/** An escape of half a character, which UTF-8 does not have. */
const HALF = /\\u[dD][89a-fA-F]/;

/** Converts values by a serializer. */
export class Serializer {
  readonly #serde: SerializerProtocol;
  readonly #isOwn: boolean;

  /** `isOwn` if it is LangGraph's: its JSON is stored as MessagePack, whose lists are split. */
  constructor(serde: SerializerProtocol, isOwn: boolean) {
    this.#serde = serde;
    this.#isOwn = isOwn;
  }

  async dumps(value: unknown): Promise<Typed> {
    const [encoding, bytes] = await this.#serde.dumpsTyped(value);
    if (!this.#isOwn || encoding !== "json") {
      return { encoding, bytes };
    }
    const text = new TextDecoder().decode(bytes);
    if (HALF.test(text)) {
      return { encoding, bytes };
    }
    try {
      return { encoding: "msgpack", bytes: pack(JSON.parse(text)) };
    } catch (error) {
      // Deeper than the form for people can be.
      if (error instanceof PackError) {
        return { encoding, bytes };
      }
      throw error;
    }
  }

  async loads({ encoding, bytes }: Typed): Promise<unknown> {
    switch (encoding) {
      case "msgpack":
        return this.#serde.loadsTyped("json", JSON.stringify(unpack(bytes, "serializer")));
      case "null":
        return null;
      case "bytearray":
        return this.#serde.loadsTyped("bytes", bytes);
      default:
        return this.#serde.loadsTyped(encoding, bytes);
    }
  }
}
