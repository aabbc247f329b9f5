/** Tells an iterator that nobody reads on, so that it closes what it holds open. Whether it can is no matter any more. */
export function closeIterator(iterator: AsyncIterator<unknown> | undefined): void {
  const closing = async () => {
    await iterator?.return?.();
  };
  closing().catch(() => undefined);
}
