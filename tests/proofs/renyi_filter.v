(* Theorem renyi filter of models/mathematics.md (models/privacy/ledger/budget.cpp, accounts with an order): what has a curve
   and what is (eps, delta)-private, chosen and priced as answers come, cost (E, D_c + D_a) in all. Laws on finitely many
   outcomes; what a curve is charged for may make some of them impossible on D, and none on D' alone. *)
From Coq Require Import Reals Lra Lia List Arith.
From Holdfast Require Import finite_sums composition conversion.
Import ListNotations.
Open Scope R_scope.

Section Order.
Variable a : R.
Hypothesis Ha : 1 < a.
(* The mean under q of (p/q)^a: of what has a divergence of order a of at most rho it is at most e^((a - 1) rho). *)
Definition power (x : R) : R := if Rlt_dec 0 x then Rpower x a else 0.
Definition moment (n : nat) (p q : nat -> R) : R := total n (fun c => q c * power (p c / q c)).
Definition curve (n : nat) (rho : R) (p q : nat -> R) : Prop := (forall c, q c = 0 -> p c = 0) /\ moment n p q <= exp ((a - 1) * rho).
(* epsilon_of_renyi of models/privacy/accountant/renyi.cpp *)
Definition epsilon_of (rho D : R) : R := Rmax 0 (rho + (ln ((a - 1) / a) - (ln D + ln a) / (a - 1))).

Lemma power_pos x : 0 <= power x.
Proof. unfold power. destruct (Rlt_dec 0 x); [unfold Rpower; left; apply exp_pos|lra]. Qed.
Lemma power_times x y : 0 < x -> 0 <= y -> power (x * y) = power x * power y.
Proof.
  intros Hx [Hy|<-]; unfold power; [|rewrite Rmult_0_r; destruct (Rlt_dec 0 0), (Rlt_dec 0 x); lra].
  pose proof (Rmult_lt_0_compat x y Hx Hy). destruct (Rlt_dec 0 (x * y)), (Rlt_dec 0 x), (Rlt_dec 0 y); try lra. symmetry. apply Rpower_mult_distr; assumption.
Qed.
(* one_outcome of conversion.v, at y = e^b *)
Lemma excess x b : 0 <= x -> x - exp b <= K a * (power x * exp ((1 - a) * b)).
Proof.
  intros Hx. unfold power. destruct (Rlt_dec 0 x) as [H|].
  - pose proof (one_outcome a x (exp b) Ha H (exp_pos b)) as O. unfold Rpower at 2 in O. rewrite ln_exp in O. exact O.
  - pose proof (exp_pos b). lra.
Qed.
Lemma K_pos : 0 < K a.
Proof. unfold K, Rpower. apply Rmult_lt_0_compat; [apply exp_pos|apply Rinv_0_lt_compat; lra]. Qed.
(* What the formula of the program says. *)
Lemma converted rho D b : 0 < D -> epsilon_of rho D <= b -> K a * exp ((a - 1) * (rho - b)) <= D.
Proof.
  intros HD H. pose proof (Rmax_r 0 (rho + (ln ((a - 1) / a) - (ln D + ln a) / (a - 1)))) as M. fold (epsilon_of rho D) in M.
  set (l := ln ((a - 1) / a)) in *.
  assert (Q : (a - 1) * (rho - b) + (a - 1) * l - ln D - ln a <= 0).
  { assert (rho - b + (l - (ln D + ln a) / (a - 1)) <= 0) as Hb by lra.
    replace ((a - 1) * (rho - b) + (a - 1) * l - ln D - ln a) with ((a - 1) * (rho - b + (l - (ln D + ln a) / (a - 1)))) by (field; lra). nra. }
  assert (E : l = ln (a - 1) - ln a) by (unfold l, Rdiv; rewrite ln_mult, ln_Rinv by (try apply Rinv_0_lt_compat; lra); ring).
  unfold K, Rpower. replace (1 - / a) with ((a - 1) / a) by (field; lra). fold l.
  rewrite <- (exp_ln D HD). rewrite <- (exp_ln (a - 1)) at 1 by lra. unfold Rdiv. rewrite <- exp_Ropp, <- !exp_plus.
  destruct (Req_dec (a * l + - ln (a - 1) + (a - 1) * (rho - b)) (ln D)) as [->|N]; [lra|]. left. apply exp_increasing. rewrite E in Q. rewrite E in N |- *. lra.
Qed.

(* What an account may be charged for. *)
Inductive item := with_curve (rho : R) (r : release) | without_curve (r : release).
Definition of_item (i : item) : release := match i with with_curve _ r => r | without_curve r => r end.
Definition item_sound (i : item) : Prop := match i with
  | with_curve rho r => is_law (outcomes r) (law r) /\ is_law (outcomes r) (law' r) /\ curve (outcomes r) rho (law r) (law' r)
  | without_curve r => sound r end.

Section Account.
Variable choose : history -> item.
Variable event : history -> bool.
Hypothesis all_sound : forall past, item_sound (choose past).
Variable Dc : R.
Hypothesis HD : 0 < Dc.
(* The curves so far, if any, and what is left of E; the first curve brings all of D_c. *)
Definition covered (curves : option R) (left : R) : Prop := match curves with Some r => epsilon_of r Dc <= left | None => 0 <= left end.
Definition covered_dec curves left : {covered curves left} + {~ covered curves left}.
Proof. destruct curves; apply Rle_dec. Defined.
Definition joined (curves : option R) (rho : R) : option R := Some (match curves with Some r => r + rho | None => rho end).
(* The chance of the event in n more answers; left: of E; apart: of D_a. *)
Fixpoint account (side : release -> nat -> R) (n : nat) (curves : option R) (left apart : R) (past : history) : R :=
  let stop := if event past then 1 else 0 in
  match n with
  | O => stop
  | S n =>
    match choose past with
    | with_curve rho r =>
      if covered_dec (joined curves rho) left then
        total (outcomes r) (fun c => side r c * account side n (joined curves rho) left apart (c :: past))
      else stop
    | without_curve r =>
      if covered_dec curves (left - eps r) then if Rle_dec (delta r) apart then
        total (outcomes r) (fun c => side r c * account side n curves (left - eps r) (apart - delta r) (c :: past))
      else stop else stop
    end
  end.
Lemma account_range (side : release -> nat -> R) : (forall past, is_law (outcomes (of_item (choose past))) (side (of_item (choose past)))) ->
  forall n curves left apart past, 0 <= account side n curves left apart past <= 1.
Proof.
  intros L. induction n; intros curves left apart past; cbn [account]; cbv zeta; [destruct (event past); lra|]. specialize (L past).
  destruct (choose past) as [rho r|r]; cbn [of_item] in L.
  - destruct (covered_dec (joined curves rho) left); [|destruct (event past); lra]. apply mean_range; [exact L|]. intros. apply IHn.
  - destruct (covered_dec curves (left - eps r)); [|destruct (event past); lra].
    destruct (Rle_dec _ _) as [Hd|]; [|destruct (event past); lra]. apply mean_range; [exact L|]. intros. apply IHn.
Qed.
Lemma laws past : is_law (outcomes (of_item (choose past))) (law (of_item (choose past))) /\ is_law (outcomes (of_item (choose past))) (law' (of_item (choose past))).
Proof. pose proof (all_sound past) as S. destruct (choose past); cbn in *; unfold sound in S; tauto. Qed.

(* l: the product of the ratios p/q of the releases with curves so far; r: the sum of their rho *)
Definition spent (curves : option R) : R := match curves with Some r => r | None => 0 end.
Lemma filter_step : forall n l curves left apart past, 0 <= l -> (curves = None -> l = 1) -> covered curves left -> 0 <= apart ->
  l * account law n curves left apart past - exp left * account law' n curves left apart past <=
  l * apart + Dc * (power l * exp ((1 - a) * spent curves)).
Proof.
  assert (RG := account_range law (fun p => proj1 (laws p))). assert (RG' := account_range law' (fun p => proj2 (laws p))).
  (* where nothing more is answered *)
  assert (base : forall l curves left apart (stop : bool), 0 <= l -> (curves = None -> l = 1) -> covered curves left -> 0 <= apart ->
    l * (if stop then 1 else 0) - exp left * (if stop then 1 else 0) <= l * apart + Dc * (power l * exp ((1 - a) * spent curves))).
  { intros l curves left apart stop Hl One Cov Hap.
    assert (0 <= l * apart) by (apply Rmult_le_pos; assumption).
    assert (0 <= Dc * (power l * exp ((1 - a) * spent curves))) by (apply Rmult_le_pos; [lra|apply Rmult_le_pos; [apply power_pos|left; apply exp_pos]]).
    destruct stop; [|lra]. destruct curves as [r|]; cbn [covered spent] in *.
    - pose proof (excess l left Hl) as X. pose proof (converted r Dc left HD Cov) as C. pose proof (power_pos l).
      assert (K a * (power l * exp ((1 - a) * left)) <= Dc * (power l * exp ((1 - a) * r))); [|lra].
      replace (K a * (power l * exp ((1 - a) * left))) with (K a * exp ((a - 1) * (r - left)) * (power l * exp ((1 - a) * r))).
      + apply Rmult_le_compat_r; [|exact C]. apply Rmult_le_pos; [assumption|left; apply exp_pos].
      + replace ((1 - a) * left) with ((a - 1) * (r - left) + (1 - a) * r) by ring. rewrite exp_plus. ring.
    - pose proof (exp_ge_1 left Cov). rewrite (One eq_refl) in *. lra. }
  induction n; intros l curves left apart past Hl One Cov Hap; cbn [account]; cbv zeta; [apply base; assumption|].
  pose proof (all_sound past) as So. pose proof (exp_pos left) as Hleft. destruct (choose past) as [rho r|r]; cbn [item_sound] in So.
  - destruct (covered_dec (joined curves rho) left) as [Cov2|]; [|apply base; assumption].
    destruct So as ((Pos & Sum) & (Pos' & _) & (Zero & M)). set (m := outcomes r) in *.
    set (next := fun side c => account side n (joined curves rho) left apart (c :: past)).
    change (l * total m (fun c => law r c * next law c) - exp left * total m (fun c => law' r c * next law' c) <= l * apart + Dc * (power l * exp ((1 - a) * spent curves))).
    (* at each answer the ratio of that answer comes in *)
    assert (each : forall c, (c < m)%nat -> l * (law r c * next law c) + (- exp left) * (law' r c * next law' c) <=
      l * apart * law r c + Dc * (power l * exp ((1 - a) * (spent curves + rho))) * (law' r c * power (law r c / law' r c))).
    { intros c _. pose proof (Pos c) as Pc. pose proof (Pos' c) as Qc. destruct (Req_dec (law' r c) 0) as [Q0|Q0].
      - rewrite Q0, (Zero c Q0). lra.
      - assert (Qpos : 0 < law' r c) by lra. assert (Rat : 0 <= law r c / law' r c) by (apply Rmult_le_pos; [assumption|left; apply Rinv_0_lt_compat; assumption]).
        pose proof (IHn (l * (law r c / law' r c)) (joined curves rho) left apart (c :: past) ltac:(apply Rmult_le_pos; assumption) ltac:(discriminate) Cov2 Hap) as I.
        fold (next law c) (next law' c) in I.
        assert (Sp : spent (joined curves rho) = spent curves + rho) by (destruct curves; cbn; ring). rewrite Sp in I.
        assert (Pw : power (l * (law r c / law' r c)) = power l * power (law r c / law' r c)).
        { destruct Hl as [Hl|<-]; [apply power_times; assumption|]. rewrite Rmult_0_l. unfold power at 1 2. destruct (Rlt_dec 0 0); lra. }
        rewrite Pw in I. apply (Rmult_le_compat_l (law' r c)) in I; [|lra].
        replace (law' r c * (l * (law r c / law' r c) * next law c - exp left * next law' c)) with (l * (law r c * next law c) + (- exp left) * (law' r c * next law' c)) in I by (field; lra).
        eapply Rle_trans; [exact I|]. right. field. lra. }
    apply total_le in each. rewrite !total_add, !total_scale, Sum in each. fold (moment m (law r) (law' r)) in each.
    assert (Dc * (power l * exp ((1 - a) * (spent curves + rho))) * moment m (law r) (law' r) <= Dc * (power l * exp ((1 - a) * spent curves))); [|lra].
    replace (Dc * (power l * exp ((1 - a) * spent curves))) with (Dc * (power l * exp ((1 - a) * (spent curves + rho))) * exp ((a - 1) * rho)).
    + apply Rmult_le_compat_l; [|exact M]. apply Rmult_le_pos; [lra|apply Rmult_le_pos; [apply power_pos|left; apply exp_pos]].
    + replace ((1 - a) * spent curves) with ((1 - a) * (spent curves + rho) + (a - 1) * rho) by ring. rewrite exp_plus. ring.
  - destruct (covered_dec curves (left - eps r)) as [Cov2|]; [|apply base; assumption].
    destruct (Rle_dec (delta r) apart) as [Hd|]; [|apply base; assumption].
    destruct So as ((Pos & Sum) & (Pos' & Sum') & He & _ & Priv). set (m := outcomes r) in *.
    set (next := fun side c => account side n curves (left - eps r) (apart - delta r) (c :: past)).
    change (l * total m (fun c => law r c * next law c) - exp left * total m (fun c => law' r c * next law' c) <= l * apart + Dc * (power l * exp ((1 - a) * spent curves))).
    set (low := fun c => Rmin (law r c) (exp (eps r) * law' r c)). set (above := fun c => law r c - low c).
    assert (Ab : total m above <= delta r).
    { set (ev := fun c => if Rlt_dec (exp (eps r) * law' r c) (law r c) then true else false). specialize (Priv ev). unfold of_event in Priv. rewrite <- total_scale in Priv.
      assert (E2 : total m above <= total m (fun c => (if ev c then law r c else 0) + (-1) * (exp (eps r) * (if ev c then law' r c else 0)))).
      { apply total_le. intros c _. unfold above, low, ev, Rmin. destruct (Rlt_dec _ _), (Rle_dec _ _); lra. }
      rewrite total_add, total_scale in E2. lra. }
    assert (low_ok : forall c, 0 <= low c <= law r c /\ low c <= exp (eps r) * law' r c).
    { intros c. unfold low. specialize (Pos c). specialize (Pos' c). pose proof (exp_pos (eps r)).
      assert (0 <= exp (eps r) * law' r c) by (apply Rmult_le_pos; lra). unfold Rmin. destruct (Rle_dec _ _); lra. }
    set (rest := l * (apart - delta r) + Dc * (power l * exp ((1 - a) * spent curves))).
    assert (R0 : 0 <= rest).
    { apply Rplus_le_le_0_compat; [apply Rmult_le_pos; lra|]. apply Rmult_le_pos; [lra|apply Rmult_le_pos; [apply power_pos|left; apply exp_pos]]. }
    assert (each : forall c, (c < m)%nat -> l * (law r c * next law c) + (- exp left) * (law' r c * next law' c) <= l * above c + rest * law r c).
    { intros c _. pose proof (IHn l curves (left - eps r) (apart - delta r) (c :: past) Hl One Cov2 ltac:(lra)) as I. fold (next law c) (next law' c) in I. fold rest in I.
      pose proof (RG n curves (left - eps r) (apart - delta r) (c :: past)) as G. pose proof (RG' n curves (left - eps r) (apart - delta r) (c :: past)) as G'.
      fold (next law c) in G. fold (next law' c) in G'. destruct (low_ok c) as ((L0 & L1) & L2). pose proof (exp_pos (left - eps r)) as Ep.
      assert (S1 : exp (left - eps r) * low c <= exp left * law' r c).
      { replace left with ((left - eps r) + eps r) at 2 by ring. rewrite exp_plus, Rmult_assoc. apply Rmult_le_compat_l; lra. }
      assert (S2 : exp (left - eps r) * low c * next law' c <= exp left * law' r c * next law' c) by (apply Rmult_le_compat_r; lra).
      assert (S3 : low c * (l * next law c - exp (left - eps r) * next law' c) <= low c * rest) by (apply Rmult_le_compat_l; assumption).
      assert (S4 : low c * rest <= law r c * rest) by (apply Rmult_le_compat_r; assumption).
      assert (S5 : 0 <= above c) by (unfold above; lra).
      assert (S6 : l * (above c * next law c) <= l * above c) by (apply Rmult_le_compat_l; [assumption|]; nra).
      replace (law r c) with (low c + above c) at 1 by (unfold above; ring). lra. }
    apply total_le in each. rewrite !total_add, !total_scale, Sum in each.
    assert (l * total m above <= l * delta r) by (apply Rmult_le_compat_l; assumption). unfold rest in each. lra.
Qed.
End Account.

Theorem renyi_filter : forall choose event E Dc Da n, (forall past, item_sound (choose past)) -> 0 <= E -> 0 < Dc -> 0 <= Da ->
  account choose event Dc law n None E Da [] <= exp E * account choose event Dc law' n None E Da [] + (Dc + Da).
Proof.
  intros choose event E Dc Da n S HE HD HA.
  pose proof (filter_step choose event S Dc HD n 1 None E Da [] ltac:(lra) (fun _ => eq_refl) HE HA) as F. cbn [spent] in F.
  assert (P : power 1 = 1) by (unfold power, Rpower; destruct (Rlt_dec 0 1); [rewrite ln_1, Rmult_0_r, exp_0; reflexivity|lra]).
  rewrite P, Rmult_0_r, exp_0 in F. lra.
Qed.
End Order.

(* ---- An example, and a wrong statement refuted: order 2, 2/3 against 1/3, which has rho = ln (3/2) ---- *)
Lemma power_2 x : 0 < x -> power 2 x = x * x.
Proof. intros H. unfold power. destruct (Rlt_dec 0 x); [|lra]. replace 2 with (1 + 1) by ring. rewrite Rpower_plus, Rpower_1 by assumption. reflexivity. Qed.
Lemma coin_curve : item_sound 2 (with_curve (ln (3 / 2)) coin).
Proof.
  destruct coin_sound as (L & L' & _). split; [exact L|]. split; [exact L'|]. split.
  - intros [|[|c]]; simpl; lra.
  - unfold moment. simpl. rewrite !power_2 by lra. replace ((2 - 1) * ln (3 / 2)) with (ln (3 / 2)) by ring. rewrite exp_ln by lra. lra.
Qed.
Definition by_turns (past : history) : item := if Nat.even (length past) then with_curve (ln (3 / 2)) coin else without_curve coin.
Example renyi_filter_example : forall event n, account 2 by_turns event (1 / 10) law n None 3 0 [] <= exp 3 * account 2 by_turns event (1 / 10) law' n None 3 0 [] + (1 / 10 + 0).
Proof. intros. apply renyi_filter; try lra. intros past. unfold by_turns. destruct (Nat.even _); [apply coin_curve|apply coin_sound]. Qed.
(* No delta for the curves: at D_c = 1/4 one is made that loses 1/6. *)
Fact renyi_filter_mutant : let said past := match past with O :: _ => true | _ => false end in
  let chance side := account 2 (fun _ => with_curve (ln (3 / 2)) coin) said (1 / 4) side 1 None (ln (3 / 2)) 0 [] in
  ~ chance law <= exp (ln (3 / 2)) * chance law' + 0.
Proof.
  assert (C : epsilon_of 2 (ln (3 / 2)) (1 / 4) <= ln (3 / 2)).
  { unfold epsilon_of. assert (0 <= ln (3 / 2)) by (rewrite <- ln_1; left; apply ln_increasing; lra). apply Rmax_lub; [assumption|].
    replace ((2 - 1) / 2) with (/ 2) by field. replace (1 / 4) with (/ 2 * / 2) by field. rewrite ln_mult, ln_Rinv by lra. lra. }
  simpl. destruct (Rle_dec (epsilon_of 2 (ln (3 / 2)) (1 / 4)) (ln (3 / 2))); [|contradiction]. rewrite exp_ln by lra. lra.
Qed.
