(* Theorem gaussian filter of models/mathematics.md (models/privacy/ledger/budget.cpp, accounts of Gaussian privacy): releases
   chosen as answers come, each with its mu^2, cost what one release of the sum of mu^2 costs. Laws on finitely many outcomes.
   That normal laws of mu and nu make one of the root of mu^2 + nu^2, whatever stands in the place of the first, is cited
   (Dong, Roth, Su 2022): it is the hypothesis `two_make_one`. *)
From Coq Require Import Reals Lra Lia List Arith.
From Holdfast Require Import finite_sums composition.
Import ListNotations.
Open Scope R_scope.

(* profile s g: the greatest P(S) - g Q(S) of what is sqrt s-Gaussian private, g >= 0. *)
Section Profile.
Variable profile : R -> R -> R.
Definition dominated (n : nat) (s : R) (p q : nat -> R) : Prop := forall g event, 0 <= g -> of_event n p event - g * of_event n q event <= profile s g.
Hypothesis profile_rises : forall s t g, 0 <= s -> s <= t -> 0 <= g -> profile s g <= profile t g.
Hypothesis profile_0 : forall g, 0 <= g -> Rmax 0 (1 - g) <= profile 0 g.
(* an outcome that D' has not is worth its whole probability *)
Definition scaled (s p gq : R) : R := if Rlt_dec 0 p then p * profile s (gq / p) else 0.
Hypothesis two_make_one : forall n s t p q g, 0 <= s -> 0 <= t -> 0 <= g -> is_law n p -> is_law n q -> dominated n s p q ->
  total n (fun c => scaled t (p c) (g * q c)) <= profile (s + t) g.

Record item := { of_item : release; mu_squared : R }.
Definition item_sound (i : item) : Prop := is_law (outcomes (of_item i)) (law (of_item i)) /\ is_law (outcomes (of_item i)) (law' (of_item i)) /\
  0 <= mu_squared i /\ dominated (outcomes (of_item i)) (mu_squared i) (law (of_item i)) (law' (of_item i)).
Variable choose : history -> item.
Variable event : history -> bool.
Hypothesis all_sound : forall past, item_sound (choose past).
(* The chance of the event in n more answers, left of M^2 *)
Fixpoint account (side : release -> nat -> R) (n : nat) (left : R) (past : history) : R :=
  let stop := if event past then 1 else 0 in
  match n with O => stop | S n => let i := choose past in
    if Rle_dec (mu_squared i) left then total (outcomes (of_item i)) (fun c => side (of_item i) c * account side n (left - mu_squared i) (c :: past)) else stop end.
Lemma account_range (side : release -> nat -> R) : (forall past, is_law (outcomes (of_item (choose past))) (side (of_item (choose past)))) ->
  forall n left past, 0 <= account side n left past <= 1.
Proof.
  intros L. induction n; intros left past; cbn [account]; cbv zeta; [destruct (event past); lra|].
  destruct (Rle_dec _ _); [|destruct (event past); lra]. apply mean_range; [apply L|]. intros. apply IHn.
Qed.
Theorem gaussian_filter : forall n left past g, 0 <= left -> 0 <= g ->
  account law n left past - g * account law' n left past <= profile left g.
Proof.
  assert (RG' := account_range law' (fun past => proj1 (proj2 (all_sound past)))).
  assert (base : forall left g (stop : bool), 0 <= left -> 0 <= g -> (if stop then 1 else 0) - g * (if stop then 1 else 0) <= profile left g).
  { intros left g stop Hl Hg. pose proof (profile_0 g Hg). pose proof (profile_rises 0 left g (Rle_refl 0) Hl Hg). pose proof (Rmax_l 0 (1 - g)). pose proof (Rmax_r 0 (1 - g)). destruct stop; lra. }
  induction n; intros left past g Hl Hg; cbn [account]; cbv zeta; [apply base; assumption|].
  destruct (Rle_dec _ _) as [H|]; [|apply base; assumption].
  destruct (all_sound past) as ((Pos & One) & (Pos' & One') & Hm & Dom). set (i := choose past) in *. set (m := outcomes (of_item i)) in *. set (rest := left - mu_squared i).
  assert (each : forall c, (c < m)%nat -> law (of_item i) c * account law n rest (c :: past) + (- g) * (law' (of_item i) c * account law' n rest (c :: past)) <=
    scaled rest (law (of_item i) c) (g * law' (of_item i) c)).
  { intros c _. pose proof (Pos c) as P. pose proof (Pos' c) as Q. pose proof (RG' n rest (c :: past)) as G'. unfold scaled. destruct (Rlt_dec 0 (law (of_item i) c)) as [P1|P1].
    - pose proof (IHn rest (c :: past) (g * law' (of_item i) c / law (of_item i) c) ltac:(unfold rest; lra)
        ltac:(apply Rmult_le_pos; [apply Rmult_le_pos; lra|left; apply Rinv_0_lt_compat; exact P1])) as I.
      apply (Rmult_le_compat_l (law (of_item i) c)) in I; [|lra]. eapply Rle_trans; [|exact I]. right. field. lra.
    - assert (law (of_item i) c = 0) as -> by lra. assert (0 <= g * (law' (of_item i) c * account law' n rest (c :: past))); [|lra].
      apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]. }
  apply total_le in each. rewrite total_add, total_scale in each.
  pose proof (two_make_one m (mu_squared i) rest _ _ g Hm ltac:(unfold rest; lra) Hg (conj Pos One) (conj Pos' One') Dom) as T.
  replace (mu_squared i + rest) with left in T by (unfold rest; ring). lra.
Qed.
End Profile.

(* ---- An example, and a wrong statement refuted ---- *)
(* Pure privacy is such a family too: s is its epsilon. *)
Definition pure (s g : R) : R := Rmax 0 (1 - g * exp (- s)).
Lemma pure_dominated n s p q : is_law n p -> is_law n q -> dominated pure n s p q -> forall g, 0 <= g -> total n (fun c => Rmax 0 (p c - g * q c)) <= pure s g.
Proof.
  intros L L' D g Hg. specialize (D g (fun c => if Rlt_dec (g * q c) (p c) then true else false) Hg). unfold of_event in D. eapply Rle_trans; [|exact D]. right.
  replace (total n (fun c => if (if Rlt_dec (g * q c) (p c) then true else false) then p c else 0) - g * total n (fun c => if (if Rlt_dec (g * q c) (p c) then true else false) then q c else 0))
    with (total n (fun c => if (if Rlt_dec (g * q c) (p c) then true else false) then p c else 0) + (- g) * total n (fun c => if (if Rlt_dec (g * q c) (p c) then true else false) then q c else 0)) by ring.
  rewrite <- total_scale, <- total_add. apply total_ext. intros c _. unfold Rmax. destruct (Rlt_dec (g * q c) (p c)), (Rle_dec 0 (p c - g * q c)); lra.
Qed.
Lemma pure_makes_one n s t p q g : 0 <= s -> 0 <= t -> 0 <= g -> is_law n p -> is_law n q -> dominated pure n s p q ->
  total n (fun c => scaled pure t (p c) (g * q c)) <= pure (s + t) g.
Proof.
  intros Hs Ht Hg L L' D. pose proof (exp_pos (- t)) as E. pose proof (pure_dominated n s p q L L' D (g * exp (- t)) ltac:(apply Rmult_le_pos; lra)) as P.
  replace (pure (s + t) g) with (pure s (g * exp (- t))) by (unfold pure; replace (- (s + t)) with (- t + - s) by ring; rewrite exp_plus, Rmult_assoc; reflexivity).
  eapply Rle_trans; [|exact P]. apply total_le. intros c _. unfold scaled, pure. destruct (Rlt_dec 0 (p c)) as [H|H]; [|apply Rmax_l].
  rewrite <- RmaxRmult by lra. rewrite Rmult_0_r. right. f_equal. field. lra.
Qed.
Lemma coin_dominated : item_sound pure {| of_item := coin; mu_squared := ln 2 |}.
Proof.
  destruct coin_sound as (L & L' & He & _ & P). split; [exact L|]. split; [exact L'|]. split; [exact ln_2_pos|]. intros g ev Hg. cbn [of_item mu_squared].
  unfold pure. rewrite exp_minus_ln_2. unfold of_event. simpl. unfold Rmax. destruct (Rle_dec 0 (1 - g * / 2)), (ev O), (ev 1%nat); lra.
Qed.
Example gaussian_filter_example : forall event n g, 0 <= g -> account (fun _ => {| of_item := coin; mu_squared := ln 2 |}) event law n (3 * ln 2) [] -
  g * account (fun _ => {| of_item := coin; mu_squared := ln 2 |}) event law' n (3 * ln 2) [] <= pure (3 * ln 2) g.
Proof.
  intros event n g Hg. pose proof ln_2_pos. apply gaussian_filter; try lra.
  - intros s t x Hs Hst Hx. unfold pure. apply Rle_max_compat_l. assert (exp (- t) <= exp (- s)) by (destruct (Req_dec s t) as [->|]; [lra|left; apply exp_increasing; lra]).
    assert (x * exp (- t) <= x * exp (- s)) by (apply Rmult_le_compat_l; lra). lra.
  - intros x Hx. unfold pure. rewrite Ropp_0, exp_0, Rmult_1_r. lra.
  - intros m s t p q x. apply pure_makes_one.
  - intros. apply coin_dominated.
Qed.
(* The greatest of what was paid, in place of the sum: two answers and one. *)
Fact gaussian_filter_mutant : let twice (side : nat -> R) := total 2 (fun a => side a * total 2 (fun b => side b * (if Nat.eqb (a + b) 0 then 1 else 0))) in
  ~ twice (law coin) - 3 / 2 * twice (law' coin) <= pure (ln 2) (3 / 2).
Proof. simpl. unfold pure. rewrite exp_minus_ln_2. unfold Rmax. destruct (Rle_dec 0 (1 - 3 / 2 * / 2)); lra. Qed.
