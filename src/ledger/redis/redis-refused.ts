/** A Redis that cannot be used at all; the sentence says what to do. */
export class RedisRefused extends Error {
  override readonly name = "RedisRefused";
}
