import { useMe } from "../../data/session.ts";
import { PageHead, Section } from "../../ui/page.tsx";
import { PasswordForm } from "./password-form.tsx";
import { SecondFactorPart } from "./second-factor-part.tsx";
import { SessionsPart } from "./sessions-part.tsx";

/** The person who is signed in: who that is, the password, the sessions. */
export default function SettingsPage() {
  const { data: me } = useMe();
  if (me === undefined) return null;
  return (
    <>
      <PageHead title="Account settings" about="Who you are here, and how you sign in." />
      <div className="stack narrow">
        <Section title="You">
          <dl className="facts card-body">
            <dt>Name</dt>
            <dd>{me.name}</dd>
            <dt>E-mail</dt>
            <dd>{me.email}</dd>
            <dt>Role</dt>
            <dd>{me.role === "admin" ? "Administrator" : "Member"}</dd>
            <dt>Account</dt>
            <dd className="mono">{me.account}</dd>
          </dl>
        </Section>
        <PasswordForm email={me.email} />
        <SecondFactorPart isOn={me.second_factor} />
        <SessionsPart />
      </div>
    </>
  );
}
