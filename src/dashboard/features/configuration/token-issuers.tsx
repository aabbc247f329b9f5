import { useState } from "react";
import useSWR, { mutate } from "swr";
import { ApiError, organization, readPages, request } from "../../data/api.ts";
import { useMe } from "../../data/session.ts";
import { Button } from "../../kit/button.tsx";
import { Loaded } from "../../kit/feedback.tsx";
import { TextAreaField } from "../../kit/field.tsx";
import { FormDialog, useForm } from "../../kit/form.tsx";
import { Section } from "../../kit/page.tsx";
import { type Column, Table } from "../../kit/table.tsx";
import { toast } from "../../kit/toast.tsx";

const getIssuers = () => readPages((query) => request(organization.jwt_issuers.get({ query })));

type Issuer = Awaited<ReturnType<typeof getIssuers>>[number];
type NewIssuers = Parameters<typeof organization.jwt_issuers.put>[0]["issuers"];

/**
 * The issuers whose tokens (JWT) are accepted in place of API keys. Owners change them, since it opens every account.
 */
export function TokenIssuersSection() {
  const state = useSWR("admin-token-issuers", getIssuers);
  const { data: me } = useMe();
  const [isEditing, setEditing] = useState(false);
  const isGiven = state.data?.some(({ from_environment: isGiven }) => isGiven);
  const isEditable = me?.role === "owner" && isGiven === false;
  return (
    <Section
      title="Token issuers"
      actions={
        isEditable && (
          <Button look="small" onClick={() => setEditing(true)}>
            Edit issuers
          </Button>
        )
      }
    >
      <Loaded state={state} lines={2}>
        {(issuers) => (
          <>
            <Table
              rows={issuers}
              rowKey={({ issuer }) => issuer}
              columns={columns}
              fileName="token-issuers"
              empty={
                <p className="card-body soft">
                  Calls need an API key. Add issuers to accept their tokens (JWT) too, such as your identity provider, a
                  cluster or a CI.
                </p>
              }
            />
            {isGiven && <p className="card-body faint">Set by JWT_ISSUERS.</p>}
            {isEditing && <IssuersDialog issuers={issuers} onClose={() => setEditing(false)} />}
          </>
        )}
      </Loaded>
    </Section>
  );
}

const toPayer = ({ claims }: Issuer) => [claims.team, claims.account].filter((claim) => claim).join(", else ");

const columns: readonly Column<Issuer>[] = [
  {
    name: "Issuer",
    className: "lead",
    sort: ({ issuer }) => issuer,
    cell: ({ issuer, audiences }) => (
      <>
        <span className="mono break">{issuer}</span>
        <span className="sub">for {audiences.join(", ")}</span>
      </>
    ),
  },
  { name: "Pays", sort: toPayer, cell: toPayer },
  {
    name: "Required",
    className: "break",
    sort: ({ require }) =>
      Object.entries(require ?? {})
        .map(([claim, values]) => `${claim}: ${values.join(", ")}`)
        .join("; "),
    cell: ({ require }) =>
      Object.entries(require ?? {}).map(([claim, values]) => (
        <span key={claim} className="sub">
          {claim}: {values.join(", ")}
        </span>
      )),
  },
  {
    name: "Unknown accounts",
    sort: ({ onUnknown }) => (onUnknown === "create" ? "created" : "rejected"),
    cell: ({ onUnknown }) =>
      onUnknown === "create" ? <span className="badge is-warn">created</span> : <span className="badge">rejected</span>,
  },
];

const example = JSON.stringify(
  [{ issuer: "https://id.example.com", audiences: ["modelgate"], claims: { account: "email" }, onUnknown: "reject" }],
  null,
  2,
);

/** An issuer in the format of JWT_ISSUERS. */
function toEntry({ id: _, object: _object, from_environment: _isGiven, ...fields }: Issuer): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

/** JSON as people write it. @throws {ApiError} As the gateway says it. */
function readIssuers(text: string): NewIssuers {
  try {
    return JSON.parse(text) as NewIssuers;
  } catch {
    const message = "The list of issuers: it is not JSON";
    throw new ApiError(400, { error: { message, code: "invalid_request", param: "issuers" } });
  }
}

function IssuersDialog({ issuers, onClose }: { issuers: readonly Issuer[]; onClose: () => void }) {
  const form = useForm({ issuers: JSON.stringify(issuers.map(toEntry), null, 2) }, async ({ issuers: text }) => {
    const { data } = await request(organization.jwt_issuers.put({ issuers: readIssuers(text) }));
    await mutate("admin-token-issuers", data, false);
    toast("Issuers saved");
    onClose();
  });
  return (
    <FormDialog title="Token issuers" form={form} isComplete={form.values.issuers.trim() !== ""} onClose={onClose}>
      <TextAreaField
        label="Issuers (JSON)"
        rows={16}
        spellCheck={false}
        placeholder={example}
        hint="In the format of JWT_ISSUERS. Anyone with a token from an issuer can make calls for the account in its claims."
        {...form.field("issuers")}
      />
    </FormDialog>
  );
}
