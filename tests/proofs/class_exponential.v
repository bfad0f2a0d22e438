(* Theorem class exponential of models/mathematics.md: class j with w (d j) over the sum of all. *)
From Coq Require Import Reals Lra Lia ZArith Arith.
From Flocq Require Import Core.
From Holdfast Require Import finite_sums.
Open Scope R_scope.

Section Law.
Variables (C : nat) (r : R) (w : nat -> R).
Hypothesis HC : (1 <= C)%nat.
Hypothesis Hr : 1 <= r.
Hypothesis pos : forall d, 0 < w d.
Hypothesis falls : forall d, w (S d) <= w d.
Hypothesis slow : forall d, w d <= r * w (S d).
Definition near (d d' : nat -> nat) := forall c, (d c <= d' c + 1 /\ d' c <= d c + 1)%nat.
Definition chance (d : nat -> nat) (j : nat) : R := w (d j) / total C (fun c => w (d c)).

Lemma weights d d' c : near d d' -> w (d c) <= r * w (d' c).
Proof.
  intros H. destruct (H c). assert (E : d c = d' c \/ d c = S (d' c) \/ d' c = S (d c)) by lia.
  pose proof (pos (d' c)). destruct E as [E|[E|E]].
  - rewrite E. nra.
  - rewrite E. pose proof (falls (d' c)). nra.
  - rewrite E. apply slow.
Qed.
Lemma sum_pos d : 0 < total C (fun c => w (d c)).
Proof.
  destruct C as [|n]; [lia|]. simpl. pose proof (pos (d n)). 
  assert (0 <= total n (fun c => w (d c))) by (apply total_pos; intros; left; apply pos). lra.
Qed.
Lemma sums d d' : near d d' -> total C (fun c => w (d c)) <= r * total C (fun c => w (d' c)).
Proof. intros H. rewrite <- total_scale. apply total_le. intros. apply weights. exact H. Qed.
Lemma near_sym d d' : near d d' -> near d' d.
Proof. intros H c. destruct (H c). split; assumption. Qed.
Theorem class_exponential : forall d d' j, near d d' -> chance d j <= r * r * chance d' j.
Proof.
  intros d d' j H. unfold chance. pose proof (weights d d' j H). pose proof (sums d' d (near_sym _ _ H)).
  pose proof (sum_pos d). pose proof (sum_pos d'). pose proof (pos (d j)). pose proof (pos (d' j)).
  set (s := total C (fun c => w (d c))) in *. set (s' := total C (fun c => w (d' c))) in *.
  apply Rmult_le_reg_r with (s * s'); [apply Rmult_lt_0_compat; assumption|].
  replace (w (d j) / s * (s * s')) with (w (d j) * s') by (field; lra).
  replace (r * r * (w (d' j) / s') * (s * s')) with ((r * w (d' j)) * (r * s)) by (field; lra).
  apply Rmult_le_compat; lra.
Qed.
(* Drawn with finitely many bits: a chance that is off by a part t of itself is paid for by the slack in r. *)
Theorem class_exponential_as_drawn : forall eps t s d d' j p p', 0 <= t < 1 -> r * s <= exp (eps / 2) -> 0 < s -> 1 + t <= s * s * (1 - t) ->
  near d d' -> Rabs (p - chance d j) <= t * chance d j -> Rabs (p' - chance d' j) <= t * chance d' j -> p <= exp eps * p'.
Proof.
  intros eps t s d d' j p p' Ht Hs Hs0 slack H P P'. pose proof (class_exponential d d' j H) as Q.
  assert (pos' : forall d, 0 < chance d j) by (intros; apply Rdiv_lt_0_compat; [apply pos|apply sum_pos]).
  pose proof (pos' d). pose proof (pos' d'). apply Rabs_le_inv in P, P'.
  assert (E : exp eps = exp (eps / 2) * exp (eps / 2)) by (rewrite <- exp_plus; f_equal; lra).
  assert (rr : (r * s) * (r * s) <= exp eps) by (rewrite E; apply Rmult_le_compat; nra).
  assert (A : p <= (1 + t) * (r * r * chance d' j)) by nra.
  assert (B : (1 - t) * chance d' j <= p') by lra.
  assert (0 <= r * r * chance d' j) by (apply Rmult_le_pos; nra).
  assert (D : (1 + t) * (r * r * chance d' j) <= s * s * (1 - t) * (r * r * chance d' j)) by (apply Rmult_le_compat_r; lra).
  replace (s * s * (1 - t) * (r * r * chance d' j)) with ((r * s) * (r * s) * ((1 - t) * chance d' j)) in D by ring.
  assert (0 <= (1 - t) * chance d' j) by (apply Rmult_le_pos; lra).
  assert ((r * s) * (r * s) * ((1 - t) * chance d' j) <= exp eps * ((1 - t) * chance d' j)) by (apply Rmult_le_compat_r; lra).
  assert (exp eps * ((1 - t) * chance d' j) <= exp eps * p') by (apply Rmult_le_compat_l; [left; apply exp_pos|exact B]). lra.
Qed.
End Law.

(* ---- Examples, and wrong statements refuted ---- *)
Definition halves (d : nat) : R := match d with O => 4 | 1%nat => 2 | _ => 1 end.
Definition one_off (c : nat) : nat := match c with O => O | _ => 1%nat end.
Example class_exponential_example : chance 2 halves one_off 0 <= 2 * 2 * chance 2 halves (fun _ => O) 0.
Proof. apply class_exponential; try lia; try lra; try (intros [|[|d]]; simpl; lra). intros [|c]; simpl; lia. Qed.
(* the slack of the program: r = e^(eps/2) / (1 + 2^-100), and a draw off by 2^-132 of itself *)
Example class_exponential_as_drawn_example : 0 <= / 2 ^ 132 < 1 /\ 0 < 1 + / 2 ^ 100 /\ 1 + / 2 ^ 132 <= (1 + / 2 ^ 100) * (1 + / 2 ^ 100) * (1 - / 2 ^ 132).
Proof. repeat split; lra. Qed.
Definition slack := class_exponential_as_drawn_example.
(* One factor r for both the weight and the sum. *)
Fact class_exponential_mutant : let swapped c := match c with O => 1%nat | _ => O end in
  near one_off swapped /\ ~ chance 3 halves one_off 0 <= 2 * chance 3 halves swapped 0.
Proof. split; [intros [|c]; simpl; lia|]. unfold chance. simpl. lra. Qed.
(* Without slack a draw that is off may lose more. *)
Fact class_exponential_as_drawn_mutant : let t := / 2 ^ 132 in ~ 1 + t <= 1 * 1 * (1 - t).
Proof. simpl. lra. Qed.
