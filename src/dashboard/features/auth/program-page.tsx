import { Fragment, type ReactNode, useEffect, useState } from "react";
import { toMessage } from "../../data/api.ts";
import type { Me } from "../../data/session.ts";
import { formatAge } from "../../format.ts";
import { Button, LinkButton } from "../../kit/button.tsx";
import { Callout } from "../../kit/feedback.tsx";
import { SelectField, TextField } from "../../kit/field.tsx";
import { Form, Submit, useForm } from "../../kit/form.tsx";
import { useAction } from "../../kit/use-action.ts";
import { useTeams } from "../team/api.ts";
import { AuthCard } from "./auth-card.tsx";
import {
  type Authorization,
  approveAuthorization,
  approveDevice,
  checkAuthorization,
  denyDevice,
  findDevice,
  forgetProgramRequest,
  type ProgramRequest,
} from "./program-request.ts";

interface PageProps {
  me: Me;
  asked: ProgramRequest;
  onDismiss: () => void;
}

/** Lets a person approve a program, such as a coding agent in a terminal, that wants to act for them. */
export default function ProgramPage({ asked: { page, params }, ...props }: PageProps) {
  return page === "device" ? <DevicePage params={params} {...props} /> : <AuthorizePage params={params} {...props} />;
}

type Step = Omit<PageProps, "asked"> & { params: URLSearchParams };
type Device = Awaited<ReturnType<typeof findDevice>> & { code: string };

/** The code is filled in from the link, and sent by hand: a link alone must not lead to the question. */
function DevicePage({ me, params, onDismiss }: Step) {
  const [device, setDevice] = useState<Device>();
  const [outcome, setOutcome] = useState<"approved" | "denied">();
  const form = useForm({ user_code: params.get("user_code")?.slice(0, 40) ?? "" }, async ({ user_code: code }) => {
    setDevice({ ...(await findDevice(code)), code });
  });
  if (outcome !== undefined) return <Done outcome={outcome} title={device?.title ?? ""} onDismiss={onDismiss} />;
  if (device !== undefined) {
    return (
      <Question
        me={me}
        title={device.title}
        facts={[
          ["Asked from", device.address],
          ["Asked", formatAge(device.created_at)],
          ["Code", device.code],
        ]}
        warning="Approve only if you started this sign-in yourself. If somebody sent you the link or the code, deny it."
        approve={async (account) => {
          await approveDevice(device.code, account);
          setOutcome("approved");
        }}
        deny={async () => {
          await denyDevice(device.code);
          setOutcome("denied");
        }}
      />
    );
  }
  return (
    <AuthCard
      title="Sign in a program"
      description="Check that the code is the one in your terminal."
      foot={<SignedInAs me={me} onDismiss={onDismiss} />}
    >
      <Form form={form}>
        <TextField
          label="Code"
          name="user_code"
          autoComplete="off"
          autoCapitalize="characters"
          spellCheck={false}
          autoFocus
          placeholder="XXXX-XXXX"
          maxLength={40}
          {...form.field("user_code")}
        />
        <Submit
          form={form}
          label="Continue"
          busyLabel="Checking…"
          look="primary wide"
          isComplete={form.values.user_code.trim() !== ""}
        />
      </Form>
    </AuthCard>
  );
}

/** The program's own browser brings the person, who is sent back to it with a code. */
function AuthorizePage({ me, params, onDismiss }: Step) {
  const [title, setTitle] = useState<string>();
  const [failure, setFailure] = useState<unknown>();
  const [isOver, setOver] = useState(false);
  const authorization = readAuthorization(params);
  useEffect(() => {
    checkAuthorization(readAuthorization(params)).then((answer) => setTitle(answer.title), setFailure);
  }, [params]);
  if (failure !== undefined) {
    return (
      <AuthCard title="Sign in a program" foot={<LinkButton onClick={onDismiss}>Go to the dashboard</LinkButton>}>
        <Callout tone="bad">{toMessage(failure)}</Callout>
      </AuthCard>
    );
  }
  if (title === undefined) return null;
  if (isOver) return <Done outcome="approved" title={title} onDismiss={onDismiss} />;
  const sendBack = (answer: Record<string, string>) => {
    setOver(true);
    const url = new URL(authorization.redirect_uri);
    const state = params.get("state");
    for (const [name, value] of Object.entries({ ...answer, ...(state !== null && { state }) }))
      url.searchParams.set(name, value);
    location.assign(url);
  };
  return (
    <Question
      me={me}
      title={title}
      facts={[
        ["Asked from", "this computer"],
        ["Returns to", new URL(authorization.redirect_uri).host],
      ]}
      warning="Approve only if you have just started this sign-in on this computer."
      approve={async (account) => sendBack({ code: (await approveAuthorization(authorization, account)).code })}
      deny={async () => sendBack({ error: "access_denied" })}
    />
  );
}

function readAuthorization(params: URLSearchParams): Authorization {
  const read = (name: string) => params.get(name) ?? " ";
  const isS256 = params.get("response_type") === "code" && params.get("code_challenge_method") === "S256";
  return {
    client_id: read("client_id"),
    redirect_uri: read("redirect_uri"),
    code_challenge: isS256 ? read("code_challenge") : " ",
  };
}

interface QuestionProps {
  me: Me;
  title: string;
  facts: readonly (readonly [name: string, value: ReactNode])[];
  warning: string;
  approve: (account: string) => Promise<unknown>;
  deny: () => Promise<unknown>;
}

/** Shows the program that asks, and which account pays. */
function Question({ me, title, facts, warning, approve, deny }: QuestionProps) {
  const { data: teams } = useTeams();
  const [chosen, setChosen] = useState(me.account);
  const approval = useAction(() => approve(chosen));
  const denial = useAction(deny);
  const isBusy = approval.isBusy || denial.isBusy;
  const options = (teams?.data ?? []).map(
    ({ account, name, email, is_own }) =>
      [account, is_own ? `${name ?? email} (own)` : (name ?? email ?? account)] as const,
  );
  return (
    <AuthCard
      title={`Sign in ${title}?`}
      description={`It will call models as ${me.email}, until you revoke its key under API keys.`}
    >
      <div className="stack">
        <Callout tone="bad">{approval.formError() ?? denial.formError()}</Callout>
        <dl className="facts">
          {[...facts, ...(options.length > 1 ? [] : [["Account that pays", me.account_name] as const])].map(
            ([name, value]) => (
              <Fragment key={name}>
                <dt>{name}</dt>
                <dd className="break">{value}</dd>
              </Fragment>
            ),
          )}
        </dl>
        {options.length > 1 && (
          <SelectField label="Account that pays" options={options} value={chosen} onText={setChosen} />
        )}
        <Callout tone="warn">{warning}</Callout>
        <div className="program-answers">
          <Button look="wide" disabled={isBusy} onClick={() => void denial.run()}>
            Deny
          </Button>
          <Button look="primary wide" disabled={isBusy || teams === undefined} onClick={() => void approval.run()}>
            {approval.isBusy ? "Approving…" : "Approve"}
          </Button>
        </div>
      </div>
    </AuthCard>
  );
}

function SignedInAs({ me, onDismiss }: { me: Me; onDismiss: () => void }) {
  return (
    <>
      You are signed in as {me.email}. <LinkButton onClick={onDismiss}>Not now</LinkButton>
    </>
  );
}

function Done({ outcome, title, onDismiss }: { outcome: "approved" | "denied"; title: string; onDismiss: () => void }) {
  const isApproved = outcome === "approved";
  useEffect(() => {
    forgetProgramRequest();
    history.replaceState(null, "", location.pathname);
  }, []);
  return (
    <AuthCard
      title={isApproved ? `${title} is signed in` : `${title} was denied`}
      description={
        isApproved
          ? "You can close this page and go back to your terminal."
          : "Nothing was signed in. You can close this page."
      }
      foot={<LinkButton onClick={onDismiss}>Go to the dashboard</LinkButton>}
    >
      {isApproved && <Callout tone="good">Its key is on the page API keys, where you can revoke it.</Callout>}
    </AuthCard>
  );
}
