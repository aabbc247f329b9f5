import type { Elysia } from "elysia";
import type { ResponsesConnection } from "./responses-socket/connection.ts";
import { webSocketSettings } from "./responses-socket/index.ts";

export interface ListenOptions {
  readonly hostname: string;
  readonly port: number;
  readonly reusePort?: boolean;
  readonly idleTimeout?: number;
  readonly maxRequestBodySize?: number;
  /** Answers where Elysia fails. Without it Bun answers with a page that shows the source. */
  error(error: unknown): Response;
}

/**
 * Listens, with Elysia as the only router. Its own `listen` gives each route to Bun's router too, at once and again a moment
 * later: that takes a tenth of the CPU of a start, and routes requests by other rules than Elysia's.
 */
export function listen(app: Elysia, options: ListenOptions): void {
  app.compile();
  app.server = Bun.serve<ResponsesConnection>({
    ...options,
    development: false,
    websocket: {
      ...webSocketSettings,
      open: (socket) => socket.data.open(socket),
      message: (socket, frame) => socket.data.message(socket, frame),
      drain: ({ data }) => data.drain(),
      close: ({ data }) => data.close(),
    },
    fetch: app.fetch,
  });
}
