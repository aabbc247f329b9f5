import { useMe } from "../../data/session.ts";
import { PageHead, Section } from "../../ui/page.tsx";
import { PasswordForm } from "./password-form.tsx";
import { SecondFactorSection } from "./second-factor-section.tsx";
import { SessionsSection } from "./sessions-section.tsx";

/** Profile, password, two-step sign-in and sessions. */
export default function SettingsPage() {
  const { data: me } = useMe();
  if (me === undefined) return null;
  return (
    <>
      <PageHead title="Account settings" description="Your profile, password and sign-in security." />
      <div className="stack narrow">
        <Section title="Profile">
          <dl className="facts card-body">
            <dt>Name</dt>
            <dd>{me.name}</dd>
            <dt>Email</dt>
            <dd>{me.email}</dd>
            <dt>Role</dt>
            <dd>{me.role === "admin" ? "Administrator" : "Member"}</dd>
            <dt>Account ID</dt>
            <dd className="mono">{me.account}</dd>
          </dl>
        </Section>
        <PasswordForm email={me.email} />
        <SecondFactorSection isOn={me.second_factor} />
        <SessionsSection />
      </div>
    </>
  );
}
