import { expect } from "bun:test";
import { openStore } from "../../../../src/db/index.ts";
import { newDatabase, queryPostgres } from "../../../support/postgres.ts";
import { node, postgresTest } from "./fixture.ts";

const imageBytes = 5 * 2 ** 20;

postgresTest(
  "eight images of 5 MB at once are stored and read, though a call may wait only a fifth of a second",
  async () => {
    const { store } = await node(undefined, { timeoutMs: 200 });
    const images = Array.from({ length: 8 }, () => crypto.getRandomValues(Buffer.alloc(imageBytes / 80)));
    const bytes = images.map((image) => new Uint8Array(Buffer.alloc(imageBytes, image)));
    const put = (content: Uint8Array<ArrayBuffer>) =>
      store.blobs.put("account", { mediaType: "image/png", bytes: content, expiresAt: Date.now() + 60_000 });
    const ids = await Promise.all(bytes.map(put));
    const found = await Promise.all(ids.map((id) => store.blobs.get(id)));
    expect(found.map((file, index) => Buffer.compare(file?.bytes as Uint8Array, bytes[index] as Uint8Array))).toEqual(
      Array(8).fill(0),
    );
  },
);

postgresTest(
  "images have a connection of their own, which is opened when the first comes and opened again",
  async () => {
    const url = await newDatabase();
    const store = await openStore({ url, timeoutMs: 10_000 });
    const connections = () =>
      queryPostgres(
        url,
        "select from pg_stat_activity where application_name like 'modelgate blobs %' and datname = current_database()",
      );
    expect(await connections()).toHaveLength(0);
    const put = () =>
      store.blobs.put("account", { mediaType: "image/png", bytes: new Uint8Array(3), expiresAt: Date.now() + 60_000 });
    const id = await put();
    expect(await connections()).toHaveLength(1);
    await queryPostgres(
      url,
      "select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name like 'modelgate blobs %'",
    );
    // The end of the connection may not have arrived yet.
    await put().catch(() => undefined);
    expect((await store.blobs.get(id))?.bytes).toEqual(new Uint8Array(3));
    await store.close();
  },
);
