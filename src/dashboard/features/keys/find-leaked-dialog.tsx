import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { useMe } from "../../data/session.ts";
import { formatAge, formatMoment } from "../../format.ts";
import { Button } from "../../kit/button.tsx";
import { Dialog, DialogContent } from "../../kit/dialog.tsx";
import { Callout } from "../../kit/feedback.tsx";
import { Check, SelectField, TextAreaField } from "../../kit/field.tsx";
import { FormDialog, useForm } from "../../kit/form.tsx";
import { Fact, Usd } from "../../kit/page.tsx";
import { toast } from "../../kit/toast.tsx";
import { maskKey } from "./api.ts";
import { CallersTable } from "./callers.tsx";
import { KeyCreated } from "./key-created.tsx";
import {
  type Credential,
  canHash,
  type Ending,
  endCredential,
  type LeakScope,
  type LookUp,
  lookUp,
} from "./leaked-api.ts";

type Action = Ending["action"];

/** A credential that was ended here, and a sentence on the mail to its holder. */
interface Ended {
  readonly credential: Credential;
  readonly mail: string;
}

/** Finds keys in a pasted text, and ends them. The text stays in the page and is forgotten once it was read. */
export function FindLeakedDialog({
  scope,
  text = "",
  mayChange,
  onClose,
}: {
  scope: LeakScope;
  /** A text that was pasted elsewhere. */
  text?: string;
  mayChange: boolean;
  onClose: () => void;
}) {
  const [answer, setAnswer] = useState<LookUp>();
  const [ending, setEnding] = useState<{ credential: Credential; action: Action }>();
  const [mails, setMails] = useState<ReadonlyMap<Credential, string>>(new Map());
  const form = useForm({ text }, async (values) => {
    setAnswer(await lookUp(values.text, scope));
    setMails(new Map());
  });
  if (answer === undefined) {
    return (
      <FormDialog
        title="Find a leaked key"
        description="Paste anything that a key may be in: a log line, JSON, an env file, an address. The text stays on this page; only ids and hashes of secrets are sent."
        form={form}
        label="Find keys"
        busyLabel="Looking…"
        isComplete={form.values.text.trim() !== ""}
        onClose={onClose}
      >
        <TextAreaField label="Text" rows={8} autoFocus spellCheck={false} autoComplete="off" {...form.field("text")} />
        {!canHash && <NoHash />}
      </FormDialog>
    );
  }
  return (
    <Dialog title="Find a leaked key" isWide onClose={onClose}>
      <DialogContent label="Close" look="" onClose={onClose}>
        {!canHash && <NoHash />}
        {answer.skipped > 0 && (
          <Callout tone="warn">
            {answer.skipped === 1 ? "1 key of another gateway" : `${answer.skipped} keys of other gateways`} in the text
            could not be looked up.
          </Callout>
        )}
        {answer.credentials.length === 0 && answer.skipped === 0 && (
          <Callout>The text has no key or token of a gateway.</Callout>
        )}
        {answer.credentials.map((credential) => (
          <CredentialCard
            key={`${credential.type} ${credential.id} ${credential.secret}`}
            credential={credential}
            scope={scope}
            mail={mails.get(credential)}
            onEnd={mayChange ? (action) => setEnding({ credential, action }) : undefined}
          />
        ))}
        <div className="row">
          <Button
            onClick={() => {
              form.set({ text: "" });
              setAnswer(undefined);
            }}
          >
            Paste another text
          </Button>
        </div>
      </DialogContent>
      {ending !== undefined && (
        <EndDialog
          {...ending}
          scope={scope}
          canMail={answer.canMail}
          onEnded={({ credential, mail }) => {
            const replace = (each: Credential) => (each === ending.credential ? credential : each);
            setAnswer({ ...answer, credentials: answer.credentials.map(replace) });
            setMails(new Map([...mails, [credential, mail]]));
          }}
          onClose={() => setEnding(undefined)}
        />
      )}
    </Dialog>
  );
}

function NoHash() {
  return (
    <Callout tone="warn">
      This page is not loaded over TLS, so the browser cannot compute a hash. Secrets are cut from the text, and nobody
      can say whether they are in force: keys are found by their ids alone.
    </Callout>
  );
}

/** The credential after it was revoked or rotated here. A rotated key stays active, with another secret than the text has. */
function toEnded(credential: Credential, { action, grace_seconds: grace = 0 }: Ending, now = Date.now()): Credential {
  if (action === "revoke") {
    return { ...credential, status: "revoked", usable: false, can_rotate: false, revoked_at: toIso(now) };
  }
  if (credential.secret === "unchecked") return { ...credential, replaced_at: toIso(now) };
  if (credential.secret !== "current") return { ...credential, secret: "other", usable: false, usable_until: null };
  const works = credential.usable === true && grace > 0;
  return {
    ...credential,
    secret: "previous",
    usable: works,
    usable_until: works ? toIso(now + grace * 1000) : null,
    replaced_at: toIso(now),
  };
}

function toIso(ms: number): string {
  return new Date(ms).toISOString();
}

const typeNames: Readonly<Record<Credential["type"], string>> = {
  api_key: "API key",
  admin_key: "Admin key",
  access_token: "Access token",
  refresh_token: "Refresh token",
};

function toName({ type, id }: Pick<Credential, "type" | "id">): string {
  if (id === null) return "Key of another gateway";
  if (type === "api_key") return maskKey(id);
  return type === "admin_key" ? `sk-mg-admin-${id}-…` : `${type === "access_token" ? "mg-at" : "mg-rt"}-${id}-…`;
}

function CredentialCard({
  credential,
  scope,
  mail,
  onEnd,
}: {
  credential: Credential;
  scope: LeakScope;
  /** A sentence on the mail to the holder, once the credential was ended here. */
  mail: string | undefined;
  onEnd: ((action: Action) => void) | undefined;
}) {
  const { project, callers, holders, status } = credential;
  if (status === "not_found") {
    return (
      <Callout>
        <span className="mono">{toName(credential)}</span>:{" "}
        {scope === "account" ? "no key of this account." : "no key of this gateway."}
      </Callout>
    );
  }
  return (
    <section className="card" aria-label={toName(credential)}>
      <div className="card-head is-ruled">
        <h3 className="cut">
          {typeNames[credential.type]} “{credential.name}”
        </h3>
        <Force credential={credential} />
      </div>
      <div className="card-body stack stack-tight">
        <p>
          {describe(credential)} {mail}
        </p>
        <div className="row">
          {onEnd !== undefined && status === "active" && (
            <>
              <Button look="danger" onClick={() => onEnd("revoke")}>
                Revoke…
              </Button>
              {credential.can_rotate && (
                <Button look="primary" onClick={() => onEnd("rotate")}>
                  Rotate…
                </Button>
              )}
            </>
          )}
          {credential.key_id !== null && (
            <Link className="link" href={`/requests?key=${encodeURIComponent(credential.key_id)}`}>
              Its requests
            </Link>
          )}
        </div>
        <dl className="facts">
          <Fact name="Id" className="mono">
            {toName(credential)}
          </Fact>
          {project !== null && (
            <Fact name="Account">
              {scope === "gateway" ? (
                <Link className="link" href={`/admin/accounts/${project.id}`}>
                  {project.name ?? project.email}
                </Link>
              ) : (
                (project.name ?? project.email)
              )}
            </Fact>
          )}
          <Fact name="Holder">{holders.length === 0 ? "nobody with a verified e-mail" : holders.join(", ")}</Fact>
          <Fact name="Last used">
            {credential.last_used_at === null ? "never" : formatAge(credential.last_used_at)}
          </Fact>
          {credential.cost_today_usd !== null && credential.cost_30_days_usd !== null && (
            <>
              <Fact name="Cost today">
                <Usd value={credential.cost_today_usd} />
              </Fact>
              <Fact name="Cost, 30 days">
                <Usd value={credential.cost_30_days_usd} />
              </Fact>
            </>
          )}
        </dl>
        {credential.key_id !== null && <CallersTable callers={callers} />}
      </div>
    </section>
  );
}

function Force({ credential: { usable, status } }: { credential: Credential }): ReactNode {
  if (usable === true) return <span className="badge is-bad">secret works</span>;
  if (usable === false) return <span className="badge is-good">secret does not work</span>;
  return <span className="badge is-warn">{status === "active" ? "secret unknown" : status}</span>;
}

/** Says in a sentence what the text has of the credential. */
function describe({ secret, status, usable_until, replaced_at, expires_at, revoked_at }: Credential): string {
  if (status === "revoked")
    return revoked_at === null ? "It is revoked." : `It was revoked ${formatMoment(revoked_at)}.`;
  if (status === "expired") return expires_at === null ? "It has expired." : `It expired ${formatMoment(expires_at)}.`;
  if (status === "disabled") return "Its account or the person who signed in is disabled.";
  const until = usable_until === null ? "" : ` It ends ${formatMoment(usable_until)}.`;
  switch (secret) {
    case "current":
      return `The text has its secret: whoever read it can use it.${until}`;
    case "previous": {
      const when = replaced_at === null ? "" : ` ${formatMoment(replaced_at)}`;
      const works = until === "" ? " It no longer works." : until;
      return `The text has a secret that was replaced${when}.${works} The key works with its new secret.`;
    }
    case "other":
      return "The secret in the text is not of this key, or is an older one that no longer works.";
    case "unchecked": {
      const replaced = replaced_at === null ? "" : ` Its secret was replaced ${formatMoment(replaced_at)}.`;
      return `The text has its id; nobody can tell from it whether somebody has its secret.${replaced}`;
    }
  }
}

const describeAction: Readonly<Record<Action, string>> = {
  revoke: "Programs that use it are refused at once.",
  rotate: "It gets a new secret, and keeps its limits and name.",
};
const graces = [
  ["0", "Not at all"],
  ["3600", "1 hour"],
  ["86400", "1 day"],
] as const;

/** Revokes or rotates a leaked credential, and writes to its holder. */
function EndDialog({
  credential,
  action,
  scope,
  canMail,
  onEnded,
  onClose,
}: {
  credential: Credential;
  action: Action;
  scope: LeakScope;
  canMail: boolean;
  onEnded: (ended: Ended) => void;
  onClose: () => void;
}) {
  const [rotated, setRotated] = useState<string>();
  const { name, type } = credential;
  const { data: me } = useMe();
  /** Nobody is written to about what they do themselves. */
  const holders = credential.holders.filter((email) => email !== me?.email);
  const canWrite = canMail && holders.length > 0;
  const form = useForm({ grace_seconds: "0" as string, notifies: true }, async ({ grace_seconds, notifies }) => {
    const ending: Ending = {
      action,
      ...(action === "rotate" && { grace_seconds: Number(grace_seconds) }),
      notify_holder: canWrite && notifies,
    };
    const ended = await endCredential(credential, scope, ending);
    const mail = describeMail(ended, canWrite ? [] : holders);
    toast(`“${name}” is ${action === "revoke" ? "revoked" : "rotated"}. ${mail}`.trim());
    if (ended.value === null) onClose();
    else setRotated(ended.value);
    onEnded({ credential: toEnded(credential, ending), mail });
  });
  if (rotated !== undefined) {
    return <KeyCreated title="API key rotated" secret={rotated} allowed={undefined} onClose={onClose} />;
  }
  const { notifies } = form.values;
  const isToken = type === "access_token" || type === "refresh_token";
  return (
    <FormDialog
      title={`${action === "revoke" ? "Revoke" : "Rotate"} “${name}”`}
      description={
        isToken ? "The program is signed out everywhere, and its person signs it in again." : describeAction[action]
      }
      form={form}
      label={`${action === "revoke" ? "Revoke" : "Rotate"}${notifies && canWrite ? " and mail the holder" : ""}`}
      busyLabel="Working…"
      onClose={onClose}
    >
      {action === "rotate" && (
        <SelectField label="How long the old secret still works" options={graces} {...form.field("grace_seconds")} />
      )}
      {canWrite && (
        <Check checked={notifies} onCheck={(isChecked) => form.set({ notifies: isChecked })}>
          Write to {holders.join(", ")}
        </Check>
      )}
      {!canMail && holders.length > 0 && (
        <p className="soft">No mail server is set up, so tell {holders.join(", ")} yourself.</p>
      )}
    </FormDialog>
  );
}

/** Says whether mail went. `unmailed` are the holders who cannot be written to. */
function describeMail(
  { mailed_to: mailed, mail_error: error }: Awaited<ReturnType<typeof endCredential>>,
  unmailed: readonly string[],
): string {
  if (error !== null) return `No mail was sent. ${error}.`;
  if (mailed.length > 0) return `Mail was sent to ${mailed.join(", ")}.`;
  return unmailed.length === 0 ? "" : `No mail was sent, so tell ${unmailed.join(", ")} yourself.`;
}
