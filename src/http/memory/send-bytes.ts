import type { MemoryReservation } from "./memory-accountant.ts";

/** What a socket is given at once: what it has not taken is in memory a second time. */
const pieceBytes = 64 * 1024;

/**
 * A response body that gives a socket a piece when it has taken the one before, and then releases the memory: also when its
 * client leaves, or has left before anything was sent.
 */
export function sendBytes(
  bytes: Uint8Array<ArrayBuffer>,
  { signal }: Pick<Request, "signal">,
  release: () => void,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let at = 0;
  let left: Uint8Array<ArrayBuffer> | undefined = bytes;
  const end = () => {
    left = undefined;
    signal.removeEventListener("abort", end);
    release();
  };
  if (signal.aborted) end();
  else signal.addEventListener("abort", end);
  return new ReadableStream(
    {
      pull(controller) {
        const piece = left?.subarray(at, at + pieceBytes);
        at += pieceBytes;
        if (piece !== undefined && piece.length > 0) return controller.enqueue(piece);
        controller.close();
        end();
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}

/** The same of what a call's answer has reserved: from here on it takes no more than its bytes. */
export function sendReserved(
  bytes: Uint8Array<ArrayBuffer>,
  request: Pick<Request, "signal">,
  reservation: MemoryReservation,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const more = bytes.length - reservation.bytes;
  if (more > 0) reservation.grow(more);
  else reservation.shrink(-more);
  return sendBytes(bytes, request, () => reservation.release());
}
