/**
 * The Responses protocol over WebSockets, on GET of the path whose POST makes one response. Each turn runs as a call of its own,
 * by whichever protocol its provider speaks.
 */
import { GatewayError } from "../../contract/index.ts";
import { responsesInbound } from "../../protocols/responses/index.ts";
import type { Responses } from "../api/responses.ts";
import type { HttpDeps } from "../deps.ts";
import { authenticate } from "../lifecycle/authenticate.ts";
import { errorResponse, isWebSocketHandshake, refuseWebSocket } from "../lifecycle/errors.ts";
import { answerRoute } from "../lifecycle/mount.ts";
import { jsonBytesMax } from "../lifecycle/read-body.ts";
import type { RequestContext, Route } from "../lifecycle/route.ts";
import { closeCodes, type Lifetimes, lifetimesDefault, ResponsesConnection, unsentBytesMax } from "./connection.ts";
import { createTurnRoute, type Turn } from "./turn.ts";

/** Bounds of the connections of a process. */
interface Bounds {
  /** An account may have as many of them as are free, and always {@link ownMin}. */
  readonly connectionsMax: number;
  readonly ownMin: number;
  readonly lifetimes: Lifetimes;
}

/** Seconds without a frame before a ping checks that the client is still there. */
const pingSeconds = 120;

/** Settings of the server for all its WebSockets. */
export const webSocketSettings = {
  maxPayloadLength: jsonBytesMax,
  // A turn writes no more than this, and one event beyond it.
  backpressureLimit: unsentBytesMax + 2 * jsonBytesMax,
  idleTimeout: pingSeconds,
  sendPings: true,
  perMessageDeflate: false,
} as const;

/** The connections of a server. */
export class ResponsesSockets {
  readonly route: Route;
  /** Tests lower them. */
  bounds: Bounds = { connectionsMax: 10_000, ownMin: 16, lifetimes: lifetimesDefault };
  readonly #deps: HttpDeps;
  readonly #turns = new WeakMap<Request, Turn>();
  readonly #connections = new Map<ResponsesConnection, string>();
  readonly #byAccount = new Map<string, number>();
  readonly #turn: ReturnType<typeof createTurnRoute>;

  constructor(deps: HttpDeps, store: Responses) {
    this.#deps = deps;
    this.#turn = createTurnRoute(deps, { store, turnOf: (request) => this.#turnOf(request) });
    this.route = {
      method: "GET",
      path: "/responses",
      inbound: responsesInbound,
      answer: (context) => this.#open(context),
    };
  }

  /** How many there are. */
  get size(): number {
    return this.#connections.size;
  }

  /** The process shuts down: idle connections end now, the others after their running turns. */
  drain(): void {
    for (const connection of this.#connections.keys()) {
      connection.end(closeCodes.restart, "The gateway is shutting down");
    }
  }

  #turnOf(request: Request): Turn {
    const turn = this.#turns.get(request);
    if (turn === undefined) throw new TypeError("This request is no turn of a connection");
    return turn;
  }

  async #open(context: RequestContext): Promise<Response> {
    const { request } = context;
    const deps = this.#deps;
    const inbound = responsesInbound;
    if (!isWebSocketHandshake(request)) {
      const error = new GatewayError("method_not_allowed", "GET is for WebSockets here; send POST for one response");
      return await errorResponse(deps, error, { request, inbound, headers: { allow: "POST" } });
    }
    checkOrigin(deps, request);
    const server = deps.server();
    const call = await authenticate(deps, request, server, { inbound });
    context.call = call;
    const { caller } = call;
    call.isCounted = true;
    await deps.ledger.countRequest(call.id, caller);
    if (deps.loadShedder.isDraining) throw new GatewayError("unavailable", "The gateway is shutting down");
    const own = this.#byAccount.get(caller.accountId) ?? 0;
    const { connectionsMax, ownMin } = this.bounds;
    const free = connectionsMax - this.#connections.size;
    if (own >= Math.max(ownMin, free) || free <= 0) {
      const reason = `The account has ${own} WebSockets, and the gateway has room for ${free} more`;
      return await refuseWebSocket(deps, request, { reason, call, inbound });
    }
    const connection = this.#connect(context, caller);
    // Afterwards the platform answers, whatever is returned.
    if (server?.upgrade(request, { data: connection }) === true) return new Response();
    connection.close();
    const reason = "The handshake of this WebSocket is not complete: a proxy in front of the gateway may have cut it";
    return await refuseWebSocket(deps, request, { reason, call, inbound });
  }

  #connect({ request }: RequestContext, caller: ConstructorParameters<typeof ResponsesConnection>[1]["caller"]) {
    const { accountId } = caller;
    const connection: ResponsesConnection = new ResponsesConnection(this.#deps, {
      handshake: request,
      caller,
      address: this.#deps.server()?.requestIP(request)?.address ?? "unknown",
      lifetimes: this.bounds.lifetimes,
      run: async (turnRequest, turn) => {
        this.#turns.set(turnRequest, turn);
        const { deps, route } = this.#turn;
        return await answerRoute(deps, route, { request: turnRequest, params: {}, call: undefined });
      },
      onClose: () => {
        this.#connections.delete(connection);
        this.#add(accountId, -1);
      },
    });
    this.#connections.set(connection, accountId);
    this.#add(accountId, 1);
    return connection;
  }

  #add(accountId: string, count: number): void {
    const own = (this.#byAccount.get(accountId) ?? 0) + count;
    if (own === 0) this.#byAccount.delete(accountId);
    else this.#byAccount.set(accountId, own);
  }
}

/** A page of another site must not use what its reader's browser would send. @throws {GatewayError} `forbidden` */
function checkOrigin({ config: { corsOrigins = [] } }: HttpDeps, { headers }: Request): void {
  const origin = headers.get("origin");
  if (origin === null || corsOrigins.includes("*") || corsOrigins.includes(origin)) return;
  throw new GatewayError(
    "forbidden",
    `Pages of ${origin} may not open WebSockets here: CORS_ORIGINS lists those that may`,
  );
}
