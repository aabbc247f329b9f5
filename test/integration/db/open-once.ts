import { openStore } from "../../../src/db/index.ts";
import { storeOptions } from "./store-options.ts";

/** A process that opens a store and closes it: run several times at once by a test. */
const store = await openStore(storeOptions(process.argv[2] as string));
await store.setting("secret", () => "x");
await store.close();
