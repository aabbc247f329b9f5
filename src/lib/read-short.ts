/**
 * Reads a body as text, up to a size.
 *
 * @param tooLarge Makes the error of a body that is larger.
 * @throws What `tooLarge` makes, and the failures of the body.
 */
export async function readShort(
  body: AsyncIterable<Uint8Array> | null | undefined,
  bytesMax: number,
  tooLarge: () => Error,
): Promise<string> {
  const decoder = new TextDecoder();
  let [text, bytes] = ["", 0];
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) throw tooLarge();
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
