import { expect, test } from "bun:test";
import { parsePostgresUrl } from "../../../src/contract/index.ts";

test.each([
  ["postgres://one/books", ["postgres://one/books"], "postgres://one/books"],
  [
    "postgresql://ada:p%40ss@one:5433/books?sslmode=require&options=-csearch_path%3Dsecond",
    ["postgresql://ada:p%40ss@one:5433/books?sslmode=require&options=-csearch_path%3Dsecond"],
    "postgresql://ada@one:5433/books",
  ],
  [
    "postgres://ada:word@one,two:5433,[::1]:5434/books?target_session_attrs=read-write&sslmode=no-verify",
    [
      "postgres://ada:word@one/books?sslmode=no-verify",
      "postgres://ada:word@two:5433/books?sslmode=no-verify",
      "postgres://ada:word@[::1]:5434/books?sslmode=no-verify",
    ],
    "postgres://ada@one,two:5433,[::1]:5434/books",
  ],
  ["postgres://one/books?target_session_attrs=primary", ["postgres://one/books"], "postgres://one/books"],
  ["postgres://ada:a@b@one/books", ["postgres://ada:a@b@one/books"], "postgres://ada@one/books"],
])("%s names its servers", (url, servers, shown) => {
  expect(parsePostgresUrl(url)).toEqual({ servers, shown });
});

test.each([
  ["mysql://ada:hunter2@one/books", "its value is invalid"],
  ["postgres://ada:hunter2@one", "its value is invalid"],
  ["postgres://ada:hunter2@/books", "its value is invalid"],
  ["postgres://ada:hunter2@one,,two/books", "its value is invalid"],
  ["postgres://ada:hunter2@one:port/books", "its value is invalid"],
  ["postgres://ada:hunter2@one/books#part", "its value is invalid"],
  [
    "postgres://ada:hunter2@one/books?target_session_attrs=any",
    "its target_session_attrs is neither read-write nor primary, and the gateway has to write",
  ],
  [
    "postgres://ada:hunter2@one/books?target_session_attrs=standby",
    "its target_session_attrs is neither read-write nor primary, and the gateway has to write",
  ],
  ["postgres://ada:hunter2@one/books?sslmode=allow", "its sslmode is not one of disable, prefer, require,"],
  [
    "postgres://ada:hunter2@one/books?application_name=mine",
    "it has application_name, which gateways use to find each other",
  ],
  [
    "postgres://ada:hunter2@one/books?connect_timeout=5",
    "its parameter connect_timeout would have no effect; those that have are ",
  ],
  [
    "postgres://ada:hunter2@one/books?load_balance_hosts=random",
    "its parameter load_balance_hosts would have no effect",
  ],
  ["postgres://ada@one/books?hunter2!=1", "its parameter with an odd name would have no effect"],
  ["postgres://ada:hunter2@one,two/books?port=5433", "it has several hosts, and port as a parameter"],
])("%s is refused with a reason that repeats no secret", (url, reason) => {
  let message = "";
  try {
    parsePostgresUrl(url);
  } catch (error) {
    message = (error as RangeError).message;
  }
  expect(message).toStartWith(reason);
  expect(message).not.toContain("hunter2");
});
