import { type ReactNode, useEffect } from "react";
import icon from "../icon.svg";

/** The card in the middle of the screen. */
export function GateCard({
  title,
  about,
  foot,
  children,
}: {
  title: string;
  about?: ReactNode;
  foot?: ReactNode;
  children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · modelgate`;
  }, [title]);
  return (
    <main className="gate">
      <div className="gate-inner">
        <div className="brand">
          <img src={icon} alt="" />
          modelgate
        </div>
        <div className="gate-card">
          <header>
            <h1>{title}</h1>
            {about !== undefined && <p>{about}</p>}
          </header>
          {children}
        </div>
        {foot !== undefined && <p className="gate-foot">{foot}</p>}
      </div>
    </main>
  );
}
