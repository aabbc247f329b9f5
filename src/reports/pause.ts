/** Lets calls go on. */
export function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1));
}
