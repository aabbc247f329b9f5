/** Answers each path as it was told to, and does nothing for it: what tabs cost a machine before any gateway has part in it. */
import { announce } from "./parent.ts";

const bodies: Record<string, string> = JSON.parse(process.argv[2] as string);
const headers = { "content-type": "application/json" };
const routes = Object.fromEntries(
  Object.entries(bodies).map(([path, body]) => [path, new Response(body, { headers })]),
);
const server = Bun.serve({ hostname: "127.0.0.1", port: 0, routes });
announce(server.port as number);
