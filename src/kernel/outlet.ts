/** Where a streamed answer goes. The kernel writes, the HTTP side sends. */
export interface StreamSink<Piece> {
  /** The provider has begun to answer: the head may be sent. Called once, before the first piece. */
  open(): void;
  /** Takes a piece; returns a promise when the reader is behind, to be awaited before the next. */
  write(piece: Piece): Promise<void> | undefined;
}
