import { UpstreamFault } from "../../contract/index.ts";
import { nextTurn } from "../../lib/next-turn.ts";

/** After this many chunks other calls get a turn. */
const chunksPerTurn = 256;
/** More chunks than any answer has. */
const chunksMaxDefault = 8_000_000;

/**
 * The chunks of a handler, with a pause now and then: a handler that yields without end and never waits would block the
 * event loop, and so its own deadline.
 */
export function withYielding<Chunk>(
  chunks: AsyncIterator<Chunk>,
  chunksMax: number = chunksMaxDefault,
): AsyncIterator<Chunk> {
  let count = 0;
  const paused: AsyncIterator<Chunk> = {
    next() {
      if (++count % chunksPerTurn !== 0) return chunks.next();
      if (count >= chunksMax) {
        throw new UpstreamFault("bad_response", `The plugin's answer has more than ${chunksMax} chunks`);
      }
      return nextTurn().then(() => chunks.next());
    },
  };
  const close = chunks.return?.bind(chunks);
  if (close !== undefined) paused.return = close;
  return paused;
}

/** Closes an iterator early. Errors are ignored. */
export function closeIterator(iterator: AsyncIterator<unknown> | undefined): void {
  const close = async () => {
    await iterator?.return?.();
  };
  close().catch(() => undefined);
}
