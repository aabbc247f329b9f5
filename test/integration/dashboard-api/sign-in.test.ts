import { afterAll, describe, expect, test } from "bun:test";
import { dashboardHttp, origin, password } from "../../unit/http/dashboard-http.ts";

/** Passwords cost a core for a while, also on a machine that has other work. */
const stops: (() => unknown)[] = [];
afterAll(() => Promise.all(stops.map((stop) => stop())));

/** A gateway on a port of its own: only there requests have an address. */
async function listening(env: Record<string, string>) {
  const parts = await dashboardHttp(env);
  parts.app.listen({ hostname: "127.0.0.1", port: 0 });
  stops.push(() => parts.app.stop(true));
  const url = `http://127.0.0.1:${parts.app.server?.port}`;
  const enter = (forwarded: string, given = password, email = "ada@example.org") =>
    fetch(`${url}/api/auth/sign-in/email`, {
      method: "POST",
      headers: { origin: url, "content-type": "application/json", "x-forwarded-for": forwarded },
      body: JSON.stringify({ email, password: given }),
    });
  await parts.enter("ada@example.org");
  return { ...parts, attempt: enter };
}

describe("attempts to sign in", () => {
  test("are counted by the client that a trusted proxy names, IPv6 by /64", async () => {
    const { attempt } = await listening({ TRUSTED_PROXIES: "127.0.0.1, 10.0.0.0/8" });
    const stranger = (number: number) => `1.2.3.${number}, 2001:db8:1:2::${number}, 10.0.0.5`;
    for (let number = 0; number < 10; number++) {
      expect((await attempt(stranger(number), "not this one", `${number}@example.org`)).status).toBe(401);
    }
    expect((await attempt(stranger(10), "not this one", "x@example.org")).status).toBe(429);
    expect((await attempt("2001:db8:1:3::1, 10.0.0.5")).status).toBe(200);
  });

  test("are counted by the connection where its address is not a trusted proxy", async () => {
    const { attempt } = await listening({ TRUSTED_PROXIES: "10.0.0.0/8" });
    for (let number = 0; number < 10; number++) {
      expect((await attempt(`1.2.3.${number}`, "not this one", `${number}@example.org`)).status).toBe(401);
    }
    expect((await attempt("1.2.3.10")).status).toBe(429);
  });

  test("store the address of the client with the session, and not what the client wrote", async () => {
    const { attempt, store } = await listening({ TRUSTED_PROXIES: "127.0.0.1" });
    await store.db.deleteFrom("sessions").execute();
    expect((await attempt("1.2.3.4, 198.51.100.7")).status).toBe(200);
    expect(await store.db.selectFrom("sessions").select("ip_address").execute()).toEqual([
      { ip_address: "198.51.100.7" },
    ]);
  });
});

test("signing up over a known e-mail changes nothing, and the page signs in afterwards", async () => {
  const { send, enter } = await dashboardHttp({ SIGNUP: "open" });
  const ada = await enter("ada@example.org");
  const post = (path: string, body: unknown) =>
    send(path, { method: "POST", headers: { origin }, body: JSON.stringify(body) });
  const signUp = (email: string) =>
    post("/api/auth/sign-up/email", { email, password: "another password", name: "Eve" });
  const [known, unknown] = [await signUp("ada@example.org"), await signUp("eve@example.org")];
  expect([known.status, await known.text()]).toEqual([unknown.status, await unknown.text()]);
  expect(known.headers.getSetCookie()).toEqual([]);
  expect(unknown.headers.getSetCookie()).toEqual([]);
  const enterWith = (email: string) => post("/api/auth/sign-in/email", { email, password: "another password" });
  expect((await enterWith("eve@example.org")).status).toBe(200);
  expect((await enterWith("ada@example.org")).status).toBe(401);
  expect((await ada.get("/dashboard/api/me")).status).toBe(200);
});
