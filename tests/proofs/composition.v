(* Theorem composition of models/mathematics.md: the basic sum is a filter (models/privacy/ledger/budget.cpp, basic
   accounts). Releases and their amounts are chosen as answers come; a release has outcomes 0 .. m - 1. *)
From Coq Require Import Reals Lra Lia ZArith List Arith.
From Holdfast Require Import finite_sums.
Import ListNotations.
Open Scope R_scope.

(* One release, then whatever is private by x and D for each of its answers. *)
Lemma one_release n eps delta p q F F' x D : is_law n p -> is_law n q -> 0 <= D -> private n eps delta p q ->
  (forall c, 0 <= F c <= 1) -> (forall c, 0 <= F' c) -> (forall c, F c <= exp x * F' c + D) ->
  total n (fun c => p c * F c) <= exp (eps + x) * total n (fun c => q c * F' c) + (D + delta).
Proof.
  intros (Pos & One) (Pos' & _) HD Priv RF RF' IH. rewrite exp_plus. pose proof (exp_pos eps). pose proof (exp_pos x).
  (* p is its part below e^eps q, and what is above, which is delta at most in all *)
  set (low := fun c => Rmin (p c) (exp eps * q c)). set (above := fun c => p c - low c).
  assert (A : total n above <= delta).
  { set (ev := fun c => if Rlt_dec (exp eps * q c) (p c) then true else false). specialize (Priv ev). unfold of_event in Priv. rewrite <- total_scale in Priv.
    assert (E : total n above <= total n (fun c => (if ev c then p c else 0) + (-1) * (exp eps * (if ev c then q c else 0)))).
    { apply total_le. intros c _. unfold above, low, ev, Rmin. destruct (Rlt_dec _ _), (Rle_dec _ _); lra. }
    rewrite total_add, total_scale in E. lra. }
  assert (low_ok : forall c, 0 <= low c <= p c /\ low c <= exp eps * q c).
  { intros c. unfold low. specialize (Pos c). specialize (Pos' c).
    assert (0 <= exp eps * q c) by (apply Rmult_le_pos; lra). unfold Rmin. destruct (Rle_dec _ _); lra. }
  apply Rle_trans with (total n (fun c => above c + (exp eps * exp x * (q c * F' c) + D * p c))).
  - apply total_le. intros c _. destruct (low_ok c) as ((L0 & L1) & L2). specialize (IH c). destruct (RF c). specialize (RF' c).
    assert (0 <= above c) by (unfold above; lra).
    replace (p c * F c) with (low c * F c + above c * F c) by (unfold above; ring).
    assert (above c * F c <= above c) by nra.
    assert (low c * F c <= low c * (exp x * F' c) + low c * D) by nra.
    assert (low c * D <= D * p c) by nra.
    assert (0 <= exp x * F' c) by (apply Rmult_le_pos; lra).
    assert (low c * (exp x * F' c) <= exp eps * q c * (exp x * F' c)) by (apply Rmult_le_compat_r; lra). lra.
  - pose proof (total_add n above (fun c => exp eps * exp x * (q c * F' c) + D * p c)) as E1. cbv beta in E1. rewrite E1.
    pose proof (total_add n (fun c => exp eps * exp x * (q c * F' c)) (fun c => D * p c)) as E2. cbv beta in E2. rewrite E2, !total_scale, One. lra.
Qed.

(* A release: what it costs, and the laws of its answer on D and on D'. *)
Record release := { outcomes : nat; eps : R; delta : R; law : nat -> R; law' : nat -> R }.
Definition sound (r : release) := is_law (outcomes r) (law r) /\ is_law (outcomes r) (law' r) /\ 0 <= eps r /\ 0 <= delta r /\
  private (outcomes r) (eps r) (delta r) (law r) (law' r).
Lemma mean_range n p F : is_law n p -> (forall c, 0 <= F c <= 1) -> 0 <= total n (fun c => p c * F c) <= 1.
Proof.
  intros (Pos & One) H. split.
  - apply total_pos. intros c _. apply Rmult_le_pos; [apply Pos|apply H].
  - rewrite <- One. apply total_le. intros c _. specialize (H c). specialize (Pos c). nra.
Qed.

Definition history := list nat.
Section Account.
Variable choose : history -> release.          (* what is released after a history *)
Variable event : history -> bool.
Hypothesis all_sound : forall past, sound (choose past).
(* The chance of the event in n more answers. One is made only if the budget that is left covers it. *)
Fixpoint ledger (side : release -> nat -> R) (n : nat) (E D : R) (past : history) : R :=
  let stop := if event past then 1 else 0 in
  match n with
  | O => stop
  | S n =>
    let r := choose past in
    if Rle_dec (eps r) E then if Rle_dec (delta r) D then
      total (outcomes r) (fun c => side r c * ledger side n (E - eps r) (D - delta r) (c :: past))
    else stop else stop
  end.
Lemma ledger_range (side : release -> nat -> R) : (forall past, is_law (outcomes (choose past)) (side (choose past))) ->
  forall n E D past, 0 <= ledger side n E D past <= 1.
Proof.
  intros L. induction n; intros E D past; simpl; [destruct (event past); lra|].
  destruct (Rle_dec _ _) as [He|]; [|destruct (event past); lra]. destruct (Rle_dec _ _) as [Hd|]; [|destruct (event past); lra].
  apply mean_range; [apply L|]. intros. apply IHn.
Qed.
Theorem basic_filter : forall n E D past, 0 <= E -> 0 <= D ->
  ledger law n E D past <= exp E * ledger law' n E D past + D.
Proof.
  assert (RG := ledger_range law (fun p => proj1 (all_sound p))). assert (RG' := ledger_range law' (fun p => proj1 (proj2 (all_sound p)))).
  induction n; intros E D past HE HD; pose proof (exp_ge_1 E HE); simpl; [destruct (event past); lra|].
  destruct (Rle_dec _ _) as [He|]; [|destruct (event past); lra]. destruct (Rle_dec _ _) as [Hd|]; [|destruct (event past); lra].
  destruct (all_sound past) as (L & L' & _ & _ & P).
  set (r := choose past) in *.
  pose proof (one_release _ _ _ _ _ (fun c => ledger law n (E - eps r) (D - delta r) (c :: past)) (fun c => ledger law' n (E - eps r) (D - delta r) (c :: past))
    (E - eps r) (D - delta r) L L' ltac:(lra) P ltac:(intros; apply RG) ltac:(intros; apply RG') ltac:(intros; apply IHn; lra)) as Q.
  replace (eps r + (E - eps r)) with E in Q by ring. lra.
Qed.
End Account.

(* ---- An example, and a wrong statement refuted ---- *)
(* randomised response: 2/3 against 1/3 *)
Definition coin : release := {| outcomes := 2; eps := ln 2; delta := 0;
  law := fun c => match c with O => 2 / 3 | 1%nat => 1 / 3 | _ => 0 end; law' := fun c => match c with O => 1 / 3 | 1%nat => 2 / 3 | _ => 0 end |}.
Lemma ln_2_pos : 0 <= ln 2.
Proof. rewrite <- ln_1. left. apply ln_increasing; lra. Qed.
Lemma coin_sound : sound coin.
Proof.
  pose proof ln_2_pos. repeat split; simpl; try lra; try (intros [|[|c]]; lra).
  apply private_by_ratio. intros [|[|c]] _; simpl; rewrite exp_ln_2; lra.
Qed.
Example basic_filter_example : forall event n, ledger (fun _ => coin) event law n (3 * ln 2) 0 [] <=
  exp (3 * ln 2) * ledger (fun _ => coin) event law' n (3 * ln 2) 0 [] + 0.
Proof. intros. pose proof ln_2_pos. apply basic_filter; try lra. intros. apply coin_sound. Qed.
(* A ledger that asks only whether anything is left. *)
Fact basic_filter_mutant : let unchecked side := if Rlt_dec 0 (ln 2 / 2) then total 2 (fun c => side coin c * (if Nat.eqb c 0 then 1 else 0)) else 0 in
  ~ unchecked law <= exp (ln 2 / 2) * unchecked law' + 0.
Proof.
  assert (0 < ln 2) by (rewrite <- ln_1; apply ln_increasing; lra). destruct (Rlt_dec 0 (ln 2 / 2)); [|lra]. simpl.
  assert (E : exp (ln 2 / 2) * exp (ln 2 / 2) = 2) by (rewrite <- exp_plus; replace (ln 2 / 2 + ln 2 / 2) with (ln 2) by lra; apply exp_ln_2).
  pose proof (exp_pos (ln 2 / 2)). nra.
Qed.
