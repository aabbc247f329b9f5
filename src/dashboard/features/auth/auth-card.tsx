import type { ReactNode } from "react";
import icon from "../../icon.svg";
import { useTitle } from "../../kit/page.tsx";

/** The centred card of the pages before sign-in. */
export function AuthCard({
  title,
  description,
  foot,
  children,
}: {
  title: string;
  description?: ReactNode | undefined;
  foot?: ReactNode;
  children: ReactNode;
}) {
  useTitle(title);
  return (
    <main className="auth">
      <div className="auth-inner">
        <div className="brand">
          <img src={icon} alt="" />
          modelgate
        </div>
        <div className="auth-card">
          <header>
            <h1>{title}</h1>
            {description !== undefined && <p>{description}</p>}
          </header>
          {children}
        </div>
        {foot !== undefined && <p className="auth-foot">{foot}</p>}
      </div>
    </main>
  );
}
