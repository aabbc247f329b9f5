import { expect, test } from "bun:test";
import { startGateway } from "../../support/gateway.ts";
import { newDatabase, whyNoPostgres } from "../../support/postgres.ts";

test.skipIf(whyNoPostgres !== undefined)(
  "of two gateways started at once on an empty database, one prints the first key and password, which work on both",
  async () => {
    for (let round = 0; round < 2; round++) {
      const env = { DATABASE_URL: await newDatabase(), SANDBOX: "on", MODELGATE_BOOTSTRAP_KEY: "" };
      const gateways = await Promise.all([startGateway({ env }), startGateway({ env })]);
      try {
        const printed = gateways.map((gateway) => gateway.stdout()).join("");
        const keys = [...printed.matchAll(/API key +(sk-mg-\S+)/g)].map(([, key]) => key as string);
        const passwords = [...printed.matchAll(/Sign in +owner@localhost with (\S+)/g)].map(([, word]) => word);
        expect([keys.length, passwords.length]).toEqual([1, 1]);
        for (const { origin, ask } of gateways) {
          expect((await ask("/models", { headers: { authorization: `Bearer ${keys[0]}` } })).status).toBe(200);
          const signIn = await fetch(`${origin}/api/auth/sign-in/email`, {
            method: "POST",
            headers: { "content-type": "application/json", origin },
            body: JSON.stringify({ email: "owner@localhost", password: passwords[0] }),
          });
          expect(signIn.status).toBe(200);
        }
      } finally {
        for (const gateway of gateways) await gateway.stop();
      }
    }
  },
);
