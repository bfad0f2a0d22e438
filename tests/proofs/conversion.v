(* Theorem conversion of models/mathematics.md: from a Renyi divergence of order a to epsilon and delta, of laws on finitely
   many outcomes, all of them possible on either side. *)
From Coq Require Import Reals Lra Lia Arith.
From Holdfast Require Import finite_sums.
Open Scope R_scope.

(* Bernoulli's inequality: w^a >= 1 + a (w - 1), w = e^v *)
Lemma bernoulli a v : 1 < a -> a * exp v <= exp (a * v) + (a - 1).
Proof.
  intros Ha. pose proof (exp_pos v).
  (* e^y >= e^v (1 + y - v), at y = a v and at y = 0 *)
  assert (tangent : forall y, exp v * (1 + (y - v)) <= exp y).
  { intros y. replace (exp y) with (exp v * exp (y - v)) by (rewrite <- exp_plus; f_equal; ring). apply Rmult_le_compat_l; [lra|apply exp_ineq1_le]. }
  pose proof (tangent (a * v)). pose proof (tangent 0) as T. rewrite exp_0 in T. nra.
Qed.
(* what one outcome loses: x - y <= K x^a y^(1 - a), K = (1 - 1/a)^a / (a - 1) *)
Definition K (a : R) : R := Rpower (1 - / a) a / (a - 1).
Lemma one_outcome a x y : 1 < a -> 0 < x -> 0 < y -> x - y <= K a * (Rpower x a * Rpower y (1 - a)).
Proof.
  intros Ha Hx Hy. unfold K, Rpower. assert (Ia : 0 < 1 - / a) by (assert (/ a < 1) by (rewrite <- Rinv_1; apply Rinv_lt_contravar; lra); lra).
  (* x / y = a / (a - 1) e^v *)
  set (v := ln x - ln y + ln (1 - / a)).
  assert (E : exp (a * ln (1 - / a)) * (exp (a * ln x) * exp ((1 - a) * ln y)) = y * exp (a * v)).
  { rewrite <- (exp_ln y Hy) at 2. rewrite <- !exp_plus. f_equal. unfold v. ring. }
  assert (X : x = y * (a / (a - 1) * exp v)).
  { unfold v. replace (ln x - ln y + ln (1 - / a)) with (ln x + - ln y + ln (1 - / a)) by ring. rewrite !exp_plus, exp_Ropp, !exp_ln by assumption. field. lra. }
  replace (exp (a * ln (1 - / a)) / (a - 1) * (exp (a * ln x) * exp ((1 - a) * ln y))) with (y * (exp (a * v) / (a - 1))).
  2: { unfold Rdiv. replace (y * (exp (a * v) * / (a - 1))) with (y * exp (a * v) * / (a - 1)) by ring. rewrite <- E. ring. }
  rewrite X at 1. replace (y * (a / (a - 1) * exp v) - y) with (y * ((a * exp v - (a - 1)) / (a - 1))) by (field; lra).
  apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|]. pose proof (bernoulli a v Ha). lra.
Qed.

Theorem conversion : forall n a rho eps p q, 1 < a -> (forall c, 0 < p c) -> (forall c, 0 < q c) ->
  total n (fun c => Rpower (p c) a * Rpower (q c) (1 - a)) <= exp ((a - 1) * rho) ->
  private n eps (exp ((a - 1) * (rho - eps)) * K a) p q.
Proof.
  intros n a rho eps p q Ha Hp Hq D. apply private_by_outcome.
  assert (K0 : 0 <= K a) by (unfold K; apply Rmult_le_pos; [unfold Rpower; left; apply exp_pos|left; apply Rinv_0_lt_compat; lra]).
  apply Rle_trans with (total n (fun c => K a * exp ((1 - a) * eps) * (Rpower (p c) a * Rpower (q c) (1 - a)))).
  - apply total_le. intros c _. pose proof (exp_pos eps). assert (Hy : 0 < exp eps * q c) by (apply Rmult_lt_0_compat; [assumption|apply Hq]).
    pose proof (one_outcome a (p c) (exp eps * q c) Ha (Hp c) Hy) as O.
    assert (E : Rpower (exp eps * q c) (1 - a) = exp ((1 - a) * eps) * Rpower (q c) (1 - a)).
    { unfold Rpower. rewrite ln_mult, ln_exp by (assumption || apply Hq). rewrite <- exp_plus. f_equal. ring. }
    rewrite E in O. apply Rmax_lub.
    + apply Rmult_le_pos; [apply Rmult_le_pos; [assumption|left; apply exp_pos]|]. unfold Rpower. apply Rmult_le_pos; left; apply exp_pos.
    + eapply Rle_trans; [exact O|]. right. ring.
  - rewrite total_scale. pose proof (exp_pos ((1 - a) * eps)).
    apply Rle_trans with (K a * exp ((1 - a) * eps) * exp ((a - 1) * rho)); [apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|exact D]|].
    right. rewrite Rmult_assoc, <- exp_plus, Rmult_comm. f_equal. f_equal. ring.
Qed.

(* ---- An example, and a wrong statement refuted ---- *)
(* order 2, equal laws: nothing is lost, and delta at epsilon 0 is K = 1/4 *)
Example conversion_example : private 2 0 (exp ((2 - 1) * (0 - 0)) * K 2) (fun _ => 1 / 2) (fun _ => 1 / 2).
Proof.
  apply conversion; intros; try lra. simpl. rewrite <- Rpower_plus. replace (2 + (1 - 2)) with 1 by ring. rewrite Rpower_1 by lra.
  replace ((2 - 1) * 0) with 0 by ring. rewrite exp_0. lra.
Qed.
(* The divergence itself as epsilon, at no delta: 3/4 against 1/2 has one of ln(5/4) of order 2, and loses more. *)
Fact conversion_mutant : let p c := match c with O => 3 / 4 | _ => 1 / 4 end in let q (_ : nat) := 1 / 2 in
  total 2 (fun c => p c * p c / q c) <= exp (ln (5 / 4)) /\ ~ private 2 (ln (5 / 4)) 0 p q.
Proof.
  split; [simpl; rewrite exp_ln by lra; lra|]. intros H. specialize (H (fun c => Nat.eqb c 0)). unfold of_event in H. simpl in H. rewrite exp_ln in H by lra. lra.
Qed.
