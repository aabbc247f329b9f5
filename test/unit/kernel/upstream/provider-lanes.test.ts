import { describe, expect, test } from "bun:test";
import { type KeptSocket, type LaneBounds, ProviderLanes } from "../../../../src/kernel/upstream/provider-lanes.ts";
import type { WebSocketConnection } from "../../../../src/kernel/upstream/web-socket.ts";
import { opcodes, writeClose, writeFrame, writeMessage } from "../../../../src/lib/web-socket.ts";
import { until } from "../../../support/until.ts";

type Bytes = Uint8Array<ArrayBuffer>;
const place = { plugin: "acme", url: "https://acme.example/v1/responses", credential: undefined };
const turn = { id: "resp_1", model: "m", items: [] };
const grown = { bytes: 100, continues: false };

function startLane(bounds: Partial<LaneBounds> = {}) {
  const lanes = new ProviderLanes(() => performance.now());
  lanes.bounds = { ...lanes.bounds, ...bounds };
  let [bytes, isReleased] = [0, false];
  const memory = {
    grow: (more: number) => {
      if (bytes + more > 1000) throw new Error("no room");
      bytes += more;
    },
    shrink: (fewer: number) => {
      bytes -= fewer;
    },
    release: () => {
      isReleased = true;
    },
  };
  const lane = lanes.open("account", "lane", memory);
  return { lanes, lane, count: () => ({ bytes, isReleased }) };
}

/** A connection whose other end is the test. */
function connect() {
  const written: Bytes[] = [];
  let provider: ReadableStreamDefaultController<Bytes> | undefined;
  const connection: WebSocketConnection = {
    protocol: "",
    frames: new ReadableStream<Bytes>({
      start(controller) {
        provider = controller;
      },
    }),
    write: (frame) => written.push(frame) > 0,
    whenWritable: () => Promise.resolve(),
    end: (frame) => void written.push(frame),
  };
  const kinds = () => written.map(([first = 0]) => first & 15);
  return { connection, kinds, send: (frame: Bytes) => provider?.enqueue(frame), end: () => provider?.close() };
}

const running = { responseId: undefined };

/** Runs a turn without an answer. */
function runTurn(socket: KeptSocket): void {
  socket.begin(running, () => undefined);
  socket.rest(turn, grown);
}

describe("a socket between turns", () => {
  test("sends pings, answers those of its provider, and is closed where nothing comes any more", async () => {
    const { lane, lanes } = startLane({ pingMs: 10 });
    const { connection, kinds, send } = connect();
    const socket = lane.keep(connection, place);
    runTurn(socket);
    for (let count = 1; count <= 3; count++) {
      await until(() => kinds().filter((kind) => kind === opcodes.ping).length >= count);
      send(writeFrame(opcodes.ping, new Uint8Array(), false));
    }
    await until(() => kinds().includes(opcodes.pong));
    await until(() => socket.isClosed);
    expect(lanes.size).toBe(0);
    expect(kinds().at(-1)).toBe(opcodes.close);
    expect(lane.take(place)).toBeUndefined();
  });

  test.each<[string, (other: ReturnType<typeof connect>) => void]>([
    ["its provider closes it", ({ send }) => send(writeClose(1001, false))],
    ["its connection ends", ({ end }) => end()],
    ["something comes that is no WebSocket", ({ send }) => send(new Uint8Array([0xff, 0xff]))],
    ["too much comes", ({ send }) => send(writeMessage("x".repeat(65 * 1024), false))],
  ])("is closed where %s, and what was kept for it is freed", async (_, happen) => {
    const { lane, lanes, count } = startLane();
    const other = connect();
    const socket = lane.keep(other.connection, place);
    runTurn(socket);
    expect(count().bytes).toBe(100);
    happen(other);
    await until(() => socket.isClosed);
    expect(lanes.size).toBe(0);
    expect(count()).toEqual({ bytes: 0, isReleased: false });
  });

  test("hands a piece that it waited for to the turn that begins", async () => {
    const { lane } = startLane();
    const { connection, send } = connect();
    const socket = lane.keep(connection, place);
    runTurn(socket);
    await Bun.sleep(1);
    socket.begin(running, () => undefined);
    send(writeMessage("one", false));
    expect(socket.parse((await socket.read()) as Bytes)).toEqual(["one"]);
    socket.close();
  });
});

describe("a lane", () => {
  test("keeps its socket for one place, one turn at a time, until it is old", async () => {
    const { lane, lanes } = startLane({ ageMs: 50 });
    const socket = lane.keep(connect().connection, place);
    runTurn(socket);
    expect(lane.take(place)).toBe(socket);
    socket.begin(running, () => undefined);
    expect(lane.take(place)).toBeUndefined();
    expect(socket.isClosed).toBe(true);
    const other = lane.keep(connect().connection, place);
    expect(lane.take({ ...place, url: "https://other.example/v1/responses" })).toBeUndefined();
    expect(other.isClosed).toBe(true);
    const old = lane.keep(connect().connection, place);
    await Bun.sleep(60);
    expect(lane.take(place)).toBeUndefined();
    expect(old.isClosed).toBe(true);
    expect(lanes.size).toBe(0);
  });

  test("that ends closes its socket after the turn that runs, and opens none", () => {
    const { lane, lanes, count } = startLane();
    const socket = lane.keep(connect().connection, place);
    socket.begin(running, () => undefined);
    lane.end();
    expect([socket.isClosed, lane.mayOpen(place)]).toEqual([false, false]);
    socket.rest(turn, grown);
    expect([socket.isClosed, lanes.size]).toEqual([true, 0]);
    expect(count()).toEqual({ bytes: 0, isReleased: true });
  });

  test("remembers no conversation for which there is no room, and counts one that goes on as a whole", () => {
    const { lane, count } = startLane({ bytesMax: 900 });
    const socket = lane.keep(connect().connection, place);
    const rest = (bytes: number, continues: boolean) => {
      socket.begin(running, () => undefined);
      socket.rest(turn, { bytes, continues });
      return [socket.before?.id, count().bytes];
    };
    expect(rest(400, false)).toEqual(["resp_1", 400]);
    expect(rest(400, true)).toEqual(["resp_1", 800]);
    expect(rest(101, true)).toEqual([undefined, 0]);
    expect(rest(900, false)).toEqual(["resp_1", 900]);
    socket.close();
    expect(count().bytes).toBe(0);
  });

  test("asks a server whose handshake failed for no other for a while", async () => {
    const { lane, lanes } = startLane({ pauseMs: 30 });
    lane.pause(place);
    expect(lane.mayOpen(place)).toBe(false);
    expect(lane.mayOpen({ ...place, url: "https://other.example/v1/responses" })).toBe(true);
    await until(() => lanes.mayOpen("other", place));
  });
});
