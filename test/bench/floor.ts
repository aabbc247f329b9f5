/**
 * The least that a proxy with a ledger on disk can cost: it reads the request, writes a hold in a synced transaction before it asks the
 * provider, and writes the end in another before it answers. It has no keys, limits or prices.
 */
import { Database } from "bun:sqlite";
import { announce } from "./parent.ts";

/** The provider, such as `https://127.0.0.1:40000`. */
const origin = process.argv[2] as string;
const json = { "content-type": "application/json" };

const database = new Database(process.argv[4] as string);
for (const pragma of ["journal_mode = wal", "synchronous = full"]) database.run(`pragma ${pragma}`);
database.run("create table if not exists holds (id integer primary key, at integer, amount integer) strict");
database.run(
  "create table if not exists calls (id integer primary key, at integer, model text, tokens integer) strict",
);
const hold = database.query("insert into holds (at, amount) values (?, ?)");
const release = database.query("delete from holds where id = ?");
const charge = database.query("insert into calls (at, model, tokens) values (?, ?, ?)");
const end = database.transaction((id: number | bigint, model: string, tokens: number) => {
  release.run(id);
  charge.run(Date.now(), model, tokens);
});

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.argv[3] ?? 0),
  idleTimeout: 60,
  async fetch(request) {
    const { model, ...rest } = (await request.json()) as { model: string };
    const { lastInsertRowid } = hold.run(Date.now(), 1000);
    const { pathname } = new URL(request.url);
    const body = JSON.stringify({ model, ...rest });
    const answer = await fetch(origin + pathname, { method: "POST", body, headers: json });
    const text = await answer.text();
    if (answer.headers.get("content-type") !== "application/json") {
      end(lastInsertRowid, model, 0);
      return new Response(text, { headers: { "content-type": "text/event-stream" } });
    }
    const { usage } = JSON.parse(text) as { usage: { total_tokens: number } };
    end(lastInsertRowid, model, usage.total_tokens);
    return new Response(text, { headers: json });
  },
});
announce(server.port as number);
