import { UpstreamFault } from "../../contract/index.ts";

/** After how many pieces the other calls get a turn, whether the plugin waited for anything or not. */
const piecesATurn = 256;
/** More pieces than any answer has; a handler that yields more is out of hand. */
const piecesMax = 8_000_000;

/**
 * A handler's pieces, with a pause for everybody else now and then: a handler that yields without end and never waits
 * for anything would stop the whole gateway, its own deadline included.
 */
export function withYielding<Piece>(pieces: AsyncIterator<Piece>, most: number = piecesMax): AsyncIterator<Piece> {
  let count = 0;
  const paused: AsyncIterator<Piece> = {
    next() {
      if (++count % piecesATurn !== 0) return pieces.next();
      if (count >= most) throw new UpstreamFault("bad_response", `The plugin's answer has more than ${most} pieces`);
      return turn().then(() => pieces.next());
    },
  };
  const close = pieces.return?.bind(pieces);
  if (close !== undefined) paused.return = close;
  return paused;
}

function turn(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
}
