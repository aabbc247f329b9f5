/** What starts this program again with these arguments: the binary by itself, the source by its Bun. */
export function selfCommand(args: readonly string[]): string[] {
  const isCompiled = Bun.main.startsWith("/$bunfs/");
  return [process.execPath, ...(isCompiled ? [] : [Bun.main]), ...args];
}
