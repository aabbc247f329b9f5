import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { redeemedVouchers, redeemVoucher } from "../../accounts/index.ts";
import { formatUsd } from "../../contract/index.ts";
import { readRecentCalls, readStatement } from "../../ledger/index.ts";
import type { HttpDeps } from "../deps.ts";
import { signedIn } from "../session.ts";
import { formBody } from "../validation-errors.ts";
import { callFigures, lineFigures, linesOfPage, voucherFigures } from "./figures.ts";
import { readMoment } from "./read-fields.ts";

const detail = { hide: true };
const Page = Type.Object({ page: Type.Optional(Type.String({ pattern: "^[1-9]\\d{0,5}$" })) });
const CallsQuery = Type.Object({
  before: Type.Optional(Type.String({ maxLength: 40 })),
  before_id: Type.Optional(Type.String({ maxLength: 100 })),
});
const Redeem = formBody({ code: Type.String({ minLength: 1, maxLength: 100 }) });

/** What a person sees of the own account. */
export function ownController(deps: HttpDeps) {
  const { store } = deps;
  return new Elysia()
    .use(signedIn(deps))
    .get(
      "/entries",
      async ({ visitor, query }) => {
        const page = Number(query.page ?? "1");
        const lines = await readStatement(store, visitor.accountId);
        const shown = lines.slice((page - 1) * linesOfPage, page * linesOfPage);
        return { data: shown.map(lineFigures), page, pages: Math.max(1, Math.ceil(lines.length / linesOfPage)) };
      },
      { detail, query: Page },
    )
    .get(
      "/entries.csv",
      async ({ visitor, set }) => {
        set.headers["content-type"] = "text/csv; charset=utf-8";
        set.headers["content-disposition"] = 'attachment; filename="modelgate-entries.csv"';
        const lines = (await readStatement(store, visitor.accountId)).map(lineFigures);
        const rows = lines.map(({ at, kind, amount_usd, balance_usd, note }) => [
          at,
          kind,
          amount_usd,
          balance_usd,
          cell(note),
        ]);
        return `${[["at", "kind", "amount_usd", "balance_usd", "note"], ...rows].map((row) => row.join(",")).join("\r\n")}\r\n`;
      },
      { detail },
    )
    .get(
      "/calls",
      async ({ visitor, query }) => {
        const before = query.before === undefined ? undefined : readMoment(query.before, "before");
        const asked = { limit: linesOfPage, before, beforeId: query.before_id };
        return { data: (await readRecentCalls(store, visitor.accountId, asked)).map(callFigures) };
      },
      { detail, query: CallsQuery },
    )
    .get("/models", () => ({ data: [...deps.kernel.registry.offers].map(({ model }) => model) }), { detail })
    .get(
      "/vouchers",
      async ({ visitor }) => ({ data: (await redeemedVouchers(store, visitor.accountId)).map(voucherFigures) }),
      {
        detail,
      },
    )
    .post(
      "/vouchers/redeem",
      async ({ visitor: { accountId }, body: { code } }) => {
        const { nanodollars } = await redeemVoucher(store, { accountId, code }, deps.now());
        return { usd: formatUsd(nanodollars) };
      },
      { detail, body: Redeem },
    );
}

/** A note in CSV: quoted, and with nothing at its begin that a spreadsheet takes for a formula. */
function cell(text: string | null): string {
  if (text === null) return "";
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return `"${harmless.replaceAll('"', '""')}"`;
}
