import { GatewayError } from "../contract/index.ts";

/** Shorter bodies are not counted: thousands of them are a trifle. One whose length nobody says counts as this. */
const countedBytesMin = 256 * 1024;

/**
 * How long a body is, for {@link BodyRoom}.
 *
 * @throws {GatewayError} `payload_too_large`
 */
export function bodyBytesOf(request: Request, bytesMax: number): number {
  const said = request.headers.get("content-length");
  if (said === null) return countedBytesMin;
  const bytes = Number(said);
  if (bytes > bytesMax) throw tooLarge(bytesMax);
  return bytes;
}

export function tooLarge(bytesMax: number): GatewayError {
  return new GatewayError("payload_too_large", `The body is larger than ${bytesMax} bytes, the most taken here`);
}

/** The memory for large bodies of requests at work: many of them at once would be more than a machine has. */
export class BodyRoom {
  readonly #bytesMax: number;
  #takenBytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /**
   * Does what needs a body of this length, while there is room for it; for one alone there always is.
   *
   * @throws {GatewayError} `unavailable`
   */
  during<Outcome>(bytes: number, work: () => Promise<Outcome>): Promise<Outcome> {
    return bytes < countedBytesMin ? work() : this.#during(bytes, work);
  }

  async #during<Outcome>(bytes: number, work: () => Promise<Outcome>): Promise<Outcome> {
    if (this.#takenBytes > 0 && this.#takenBytes + bytes > this.#bytesMax) {
      const sentence = `The gateway has ${this.#takenBytes} bytes of bodies at work and no room for ${bytes} more; send the request again`;
      throw new GatewayError("unavailable", sentence, { retryAfterMs: 1000 });
    }
    this.#takenBytes += bytes;
    try {
      return await work();
    } finally {
      this.#takenBytes -= bytes;
    }
  }
}
