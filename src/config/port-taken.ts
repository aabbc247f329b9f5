/** The error of listening, as a sentence when the port is taken. */
export function portTaken(error: unknown, host: string, port: number, variable = "PORT"): unknown {
  const isTaken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
  if (!isTaken) return error;
  return new Error(`Cannot listen on ${host}:${port}: the port is taken; set ${variable} to another`);
}
