/** Resolves in the next turn of the event loop, once other calls had theirs. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
}
