/** Tells the bench where this process listens, and ends the process with the bench, however that ends. */
export function announce(port: number): void {
  process.stdout.write(`listening on ${port}\n`);
  endWithParent();
}

/** The bench holds the other end of standard input: when it goes, so do we. */
export function endWithParent(): void {
  process.stdin.on("end", () => process.exit(0));
  process.stdin.resume();
}
