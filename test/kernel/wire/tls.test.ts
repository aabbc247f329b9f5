import { afterEach, describe, expect, test } from "bun:test";
import { createServer, type TLSSocket } from "node:tls";
import { WireClient } from "../../../src/kernel/wire/wire-client.ts";
import { askText, dials, faultOf, questionTo, until } from "./asking.ts";
import { makeCertificates } from "./certificates.ts";
import { answerOf } from "./raw-server.ts";

const certificates = makeCertificates();
if (certificates === undefined) console.log("TLS is not tested: there is no openssl command to make certificates with");

const toStop: (() => void)[] = [];
afterEach(() => {
  for (const stop of toStop.splice(0)) stop();
});

/** A server that speaks TLS and tells what it saw. */
async function start(cert: string, options: { closes?: boolean } = {}) {
  const seen = { texts: [] as string[], names: [] as unknown[], protocols: [] as unknown[], resumed: 0 };
  const open = new Set<TLSSocket>();
  const server = createServer(
    { key: certificates?.key as string, cert, ALPNProtocols: ["h2", "http/1.1"] },
    (socket) => {
      open.add(socket);
      seen.names.push(socket.servername);
      seen.protocols.push(socket.alpnProtocol);
      if (socket.isSessionReused()) seen.resumed++;
      socket.on("error", () => socket.destroy());
      socket.on("data", (bytes) => {
        seen.texts.push(bytes.toString());
        socket.write(answerOf("hello", options.closes ? ["connection: close"] : []));
      });
    },
  );
  server.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  toStop.push(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const { port } = server.address() as { port: number };
  return { seen, named: `https://localhost:${port}`, addressed: `https://127.0.0.1:${port}` };
}

describe.skipIf(certificates === undefined).each(dials)("over TLS by %s", (_, dial) => {
  const { ca, cert, foreignCert, oldCert } = certificates ?? { ca: "", cert: "", foreignCert: "", oldCert: "" };
  const headers = { authorization: "Bearer secret" };

  test("a certificate of a known authority is accepted, the name said, HTTP/1.1 chosen, the connection kept", async () => {
    const { seen, named } = await start(cert);
    const client = new WireClient({ dial, tls: { ca } });
    expect([await askText(client.ask, named), await askText(client.ask, named)]).toEqual(["hello", "hello"]);
    expect(seen.names).toEqual(["localhost"]);
    expect(seen.protocols).toEqual(["http/1.1"]);
  });

  test("an address may stand in the certificate as well", async () => {
    const { seen, addressed } = await start(cert);
    expect(await askText(new WireClient({ dial, tls: { ca } }).ask, addressed)).toBe("hello");
    expect(seen.texts).toHaveLength(1);
  });

  test.each([
    ["of an unknown authority", cert, undefined],
    ["for another host", foreignCert, ca],
    ["that is over", oldCert, ca],
  ])("a certificate %s is refused before a key is sent", async (_, shown, known) => {
    const { seen, named, addressed } = await start(shown);
    const client = new WireClient(known === undefined ? { dial } : { dial, tls: { ca: known } });
    for (const baseUrl of [named, addressed]) {
      const fault = await faultOf(client.ask(questionTo(baseUrl, { headers })));
      expect(fault.kind).toBe("broken");
      expect(fault.message).toMatch(
        /^The connection to the provider failed: its TLS certificate is not accepted \([A-Z_]+\)$/,
      );
    }
    expect(seen.texts).toEqual([]);
    expect(client.counts.open).toBe(0);
  });

  test("verification cannot be turned off", async () => {
    const { seen, named } = await start(cert);
    const client = new WireClient({ dial, tls: { rejectUnauthorized: false } });
    await faultOf(client.ask(questionTo(named)));
    expect(seen.texts).toEqual([]);
  });

  test("a server that does not speak it fails in one sentence", async () => {
    const plain = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: { data: (socket) => void socket.end("HTTP/1.1 400 Bad Request\r\n\r\n") },
    });
    toStop.push(() => plain.stop(true));
    const fault = await faultOf(new WireClient({ dial }).ask(questionTo(`https://localhost:${plain.port}`)));
    expect(fault.kind).toBe("broken");
    expect(fault.message).toStartWith("The connection to the provider ");
  });

  test("a server that never answers the greeting is given up in time", async () => {
    const silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => undefined } });
    toStop.push(() => silent.stop(true));
    const client = new WireClient({ dial, bounds: { connectMsMax: 50 } });
    const fault = await faultOf(client.ask(questionTo(`https://localhost:${silent.port}`)));
    expect([fault.kind, fault.message]).toEqual([
      "timeout",
      "The connection to the provider did not come about in the time allowed",
    ]);
    expect(client.counts.open).toBe(0);
  });

  test("a second connection resumes the session of the first", async () => {
    const { seen, named } = await start(cert, { closes: true });
    const client = new WireClient({ dial, tls: { ca } });
    for (let call = 0; call < 4; call++) {
      await askText(client.ask, named);
      await until(() => client.counts.open === 0);
    }
    expect(seen.texts).toHaveLength(4);
    expect(seen.resumed).toBe(3);
  });
});
