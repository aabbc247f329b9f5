/** Answers of POST /responses and the items of their output, one row each. */
export interface StoredResponsesTable {
  account_id: string;
  /** Of the response or the item. */
  id: string;
  /** The response that it belongs to; its own id for a response. */
  response_id: string;
  /** Encrypted. */
  body: Uint8Array;
  /** What it counts of the bytes that an account may store. */
  bytes: number;
  expires_at: number;
}

/** One row per call with an Idempotency-Key, for a day. */
export interface IdempotencyKeysTable {
  /** HMAC of API key, endpoint and Idempotency-Key, hex; `body_hash` is one of the request. */
  id: string;
  account_id: string;
  /** The call that the request runs or ran as. */
  call_id: string;
  body_hash: string;
  /** The process that runs the call. */
  node_id: string;
  state: "running" | "done";
  /** Compressed and encrypted; null: it is not there yet, or was not stored. */
  answer: Uint8Array | null;
  /** Bytes that the account had stored up to the end of this answer; null without an answer. */
  position: number | null;
  expires_at: number;
}

/** Tables of the content log. */
export interface ContentTables {
  contents: ContentsTable;
  content_switches: ContentSwitchesTable;
}

/** Prompts and answers, one row per call. */
interface ContentsTable {
  /** The response's `x-request-id`. */
  id: string;
  account_id: string;
  /** When the call began. */
  at: number;
  /** Redacted, compressed and encrypted. */
  body: Uint8Array;
  /** Which secrets key encrypted it. */
  secrets_id: string;
  /** What it counts of the bytes that an account may have. */
  bytes: number;
  /** Bytes that the account had before this row. */
  position: number;
}

/** Accounts and API keys whose prompts and answers are kept. */
interface ContentSwitchesTable {
  /** The id of the account or the key. */
  subject: string;
  account_id: string;
  /** The administrator's account. */
  set_by: string;
  set_at: number;
}
